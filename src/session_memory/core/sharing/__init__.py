"""What laptops and a team's hub say to each other: values alone, no input or output."""
