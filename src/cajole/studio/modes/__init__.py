"""The verbs at work in the studio, one file each."""
