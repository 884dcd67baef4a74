"""What people look at: the live dashboard and the metrics that it serves."""
