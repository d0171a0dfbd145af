FROM python:3.11-slim AS build
WORKDIR /app
COPY locks/run.txt locks/run.txt
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r locks/run.txt
COPY pyproject.toml README.md LICENSE manage.py ./
COPY karpdash karpdash
COPY migrations_app migrations_app
RUN /venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation -e .

FROM python:3.11-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/karpdash --create-home karpdash
WORKDIR /app
COPY --from=build /venv /venv
COPY --from=build /app /app
COPY templates templates
COPY static static
ENV PATH=/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 DJANGO_SETTINGS_MODULE=karpdash.settings
USER 10001
EXPOSE 8000
CMD ["gunicorn", "karpdash.wsgi", "--bind", "0.0.0.0:8000", "--no-control-socket", "--worker-tmp-dir", "/tmp"]
