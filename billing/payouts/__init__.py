"""What hosts earned and how they are paid."""
