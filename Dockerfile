# A server of one model, as docs/start/serve.md describes it:
#   docker build -t credo .
#   docker run -p 8000:8000 -v "$PWD/result:/models:ro" -e CREDO_TOKEN=secret credo /models/model.credo
FROM python:3.12-slim
RUN useradd --create-home credo
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir '.[lab]'
USER credo
WORKDIR /home/credo
EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health')"]
ENTRYPOINT ["credo", "serve", "--host", "0.0.0.0"]
