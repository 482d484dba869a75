"""What runs beside a student's code, in isolation, and knows no right answer."""
