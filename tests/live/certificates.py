"""Certificates for tests: an authority of our own, and what it signs."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

__all__ = ["Authority"]

_DAY = datetime.timedelta(days=1)


class Authority:
    """Writes into ``directory``: ``authority.pem``, and for each name that it signs ``NAME.pem`` with its key."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        self.directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.file = directory / f"{name}.pem"
        own = self._builder(self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.file.write_bytes(own.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key)
        return (
            builder.serial_number(x509.random_serial_number()).not_valid_before(now - _DAY).not_valid_after(now + _DAY)
        )

    def sign(self, name: str) -> Path:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        places = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = self._builder(subject, key.public_key()).add_extension(x509.SubjectAlternativeName(places), False)
        certificate = builder.sign(self._key, hashes.SHA256())
        file = self.directory / f"{name}.pem"
        plain = serialization.NoEncryption()
        pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        file.write_bytes(certificate.public_bytes(pem) + key.private_bytes(pem, form, plain))
        return file
