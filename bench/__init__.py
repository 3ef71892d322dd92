"""What reknit reaches, beside its peers in the same run. Only ratios count; see docs/benchmarks.md."""
