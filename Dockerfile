# The image of karpdash: web, workers and the timetable are the same one with other commands.
FROM python:3.11-slim-bookworm AS build
WORKDIR /app
COPY locks/run.txt locks/run.txt
# Everything comes with its hash, so whoever serves the packages cannot change them.
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes --no-deps -r locks/run.txt
COPY pyproject.toml README.md LICENSE manage.py ./
COPY karpdash karpdash
COPY migrations_app migrations_app
RUN /venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation -e . && /venv/bin/pip check

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/karpdash --create-home karpdash \
    && install --directory --owner 10001 --group 10001 /var/lib/karpdash/audit
WORKDIR /app
COPY --from=build /venv /venv
COPY --from=build /app /app
COPY templates templates
COPY static static
COPY docs/glossary.md docs/glossary.md
COPY docs/schema/openapi-v1.yaml docs/schema/openapi-v1.yaml
ENV PATH=/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 DJANGO_SETTINGS_MODULE=karpdash.settings \
    KARPDASH_DATA_DIR=/var/lib/karpdash
# A number, so that Kubernetes can tell that it is not root.
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
CMD ["gunicorn", "karpdash.wsgi", "--bind", "0.0.0.0:8000", "--worker-class", "gthread", "--workers", "2", "--threads", "8", "--no-control-socket", "--worker-tmp-dir", "/tmp"]
