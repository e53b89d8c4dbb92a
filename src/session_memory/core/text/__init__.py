"""Pure functions over text: masking, comparing, making it safe to show, marking what is ours."""
