"""iam_sheet"""
