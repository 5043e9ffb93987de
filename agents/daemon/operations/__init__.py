"""Operations on instances: saved images, object storage and logs."""
