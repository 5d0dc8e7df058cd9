"""One file per loader that is measured. Each is a program that `..race` starts and feeds with segment sizes."""
