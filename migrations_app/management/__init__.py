"""Operations commands."""
