"""Texts with secrets, and texts that only look like secrets, for tests of every output of text."""

from typing import NamedTuple

S = "Xk9vQ2pLr7TzWq4Y"
"""Stands for a secret of no form of its own."""
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQifQ.c2lnbmF0dXJl"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAsecretsecret\n-----END RSA PRIVATE KEY-----"


class Shape(NamedTuple):
    """A text with a secret in it; no output may contain `hidden`."""

    name: str
    text: str
    hidden: str


def _named(name: str, text: str, hidden: str = S) -> Shape:
    return Shape(name, text.replace("{}", hidden), hidden)


SHAPES = (
    _named("url", "GET https://admin:{}@git.example.com/x"),
    _named("url-at-sign", "https://admin:{}@git.example.com/x", "p@ssw0rd-Q9"),
    _named("url-no-user", "redis://:{}@cache:6379/0"),
    _named("url-token-as-user", "https://{}@sentry.example.com/4", "0123456789abcdef0123456789abcdef"),
    _named("postgres", "postgresql://karpdash:{}@db:5432/karpdash?sslmode=require"),
    _named("amqp", "amqps://guest:{}@mq:5671//"),
    _named("mysql-dsn", "root:{}@tcp(10.0.0.1:3306)/app"),
    _named("basic", "Authorization: Basic {}", "a2FycGRhc2g6aHVudGVyMg=="),
    _named("basic-alone", "sent Basic {} to the proxy", "a2FycGRhc2g6aHVudGVyMg=="),
    _named("bearer", "Authorization: Bearer {}"),
    _named("bearer-alone", "header was: bearer {}"),
    _named("bearer-json", '{"Authorization":"Bearer {}"}'),
    _named("authorization-plain", "authorization={}"),
    _named("proxy-authorization", "Proxy-Authorization: Digest {}"),
    _named("cookie", "Cookie: sessionid={}; theme=dark"),
    _named("set-cookie", "Set-Cookie: csrftoken={}; Path=/"),
    _named("own-token", "token {} is used", "kd_AbCdEfGhIjKlMnOpQrStUvWxYz012345"),
    _named("eks-token", "got {} from sts", "k8s-aws-v1.aHR0cHM6Ly9zdHMuYW1hem9uYXdzLmNvbS8"),
    _named("jwt", "the account's {} expired", JWT),
    _named("jwt-two-parts", "unsigned {} given", JWT.rpartition(".")[0]),
    _named("aws-key", "key {} is not active", "AKIAIOSFODNN7EXAMPLE"),
    _named("aws-session-key", "key {} is not active", "ASIAIOSFODNN7EXAMPLE"),
    _named("aws-secret", "aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    _named("aws-secret-json", '{"SecretAccessKey": "{}"}', "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    _named("aws-session", "AWS_SESSION_TOKEN={}", "IQoJb3JpZ2luX2VjEJr//////////wEaCXVzLWVhc3QtMSJH"),
    _named("aws-session-json", '{"SessionToken":"{}"}', "IQoJb3JpZ2luX2VjEJr//////////wEaCXVzLWVhc3QtMSJH"),
    _named("password", "login failed: user=k password={} host=db"),
    _named("password-colon", "password: {}"),
    _named("password-json", '{"user": "k", "password": "{}"}'),
    _named("password-json-in-json", '"{\\"password\\":\\"{}\\"}"'),
    _named("password-spaces", 'password = "{}"', "correct horse battery"),
    _named("password-variable", "DB_PASSWORD={}"),
    _named("passwd", "passwd={}"),
    _named("passphrase", "passphrase: {}"),
    _named("odbc", "Server=db;Uid=k;Pwd={};Encrypt=yes"),
    _named("azure-storage", "AccountName=k;AccountKey={};EndpointSuffix=core", "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4=="),
    _named("azure-bus", "SharedAccessKeyName=k;SharedAccessKey={}", "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4="),
    _named("azure-sas", "https://k.blob.example.com/c?sv=2024&sig={}&se=1"),
    _named(
        "presigned", "https://b.s3.amazonaws.com/k?X-Amz-Signature={}&X-Amz-Date=1", "9f86d081884c7d659a2feaa0c55ad015"
    ),
    _named("presigned-token", "https://sts/?X-Amz-Security-Token={}", "FwoGZXIvYXdzEBYaDH%2F%2F"),
    _named("private-key", f"read {PEM} from file", PEM),
    _named("private-key-cut", "{}", "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIGh"),
    _named("private-key-one-line", "key={}", "-----BEGIN PRIVATE KEY-----\\nMIIEvQ\\n-----END PRIVATE KEY-----"),
    _named("openssh-key", "{}", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA\n-----END OPENSSH PRIVATE KEY-----"),
    _named("private-key-base64", "found {} there", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo="),
    _named("kubeconfig-key", "    client-key-data: {}", "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCk1IY0NBUUVF"),
    _named("kubeconfig-token", "    token: {}"),
    _named("slack-hook", "POST https://hooks.slack.com/services/{}", "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"),
    _named("teams-hook", "https://x.webhook.office.com/webhookb2/{}", "0a1b2c3d@0a1b/IncomingWebhook/0a1b2c3d/0a1b"),
    _named("discord-hook", "https://discord.com/api/webhooks/{}", "123456789012345678/AbCdEf-GhIjKl_MnOp"),
    _named("slack-token", "using {} now", "xoxb-123456789012-abcdefABCDEF"),
    _named("github", "remote: {} refused", "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"),
    _named("github-fine", "remote: {} refused", "github_pat_11ABCDEFG0AbCdEfGhIjKl_MnOpQrStUvWxYz"),
    _named("gitlab", "remote: {} refused", "glpat-AbCdEfGhIjKlMnOpQrSt"),
    _named("npm", "npm {} refused", "npm_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"),
    _named("google", "maps {} refused", "AIzaSyA-AbCdEfGhIjKlMnOpQrStUvWxYz01234"),
    _named("vault", "vault {} refused", "hvs.CAESIAbCdEfGhIjKlMnOpQrStUv"),
    _named("stripe", "stripe {} refused", "sk_live_AbCdEfGhIjKlMnOp"),
    _named("sendgrid", "mail {} refused", "SG.AbCdEfGhIjKlMnOp.QrStUvWxYz0123456789"),
    _named("age", "age {} refused", "AGE-SECRET-KEY-1QQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S"),
    _named("client-secret", "client_id=karpdash&client_secret={}&grant_type=x"),
    _named("client-secret-json", '{"clientSecret":"{}"}'),
    _named("refresh-token", "refresh_token={}"),
    _named("api-key", "X-API-Key: {}"),
    _named("routing-key", '{"routing_key": "{}"}'),
    _named("smtp", "SMTP_PASS={}"),
    _named("smtp-auth", "AUTH PLAIN {}", "AGthcnBkYXNoAGh1bnRlcjI="),
    _named("option", "helm registry login --username k --password {} host"),
    _named("option-token", "karpdash scan --token {}"),
    _named("query-token", "/api/v1/x?page=2&token={}&a=b"),
)

INNOCENT = (
    "nodepools.karpenter.sh default",
    "karpenter-7d9f6c5b8-abcde",
    "ip-10-20-200-10.eu-central-1.compute.internal",
    "arn:aws:iam::111122223333:role/KarpenterControllerRole-prod",
    "https://oidc.eks.eu-central-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF",
    "https://karpenter.kube-system.svc:8443/convert?timeout=30s",
    "https://sqs.eu-central-1.amazonaws.com/111122223333/karpenter",
    "oci://public.ecr.aws/karpenter/karpenter",
    "ssh://git@github.com/example/fleet.git",
    "public.ecr.aws/karpenter/controller:1.0.8@sha256:5f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "system:serviceaccount:kube-system:karpenter",
    "token expired",
    "the token was refused",
    "token: expired",
    "Bearer token missing",
    "Basic authentication failed",
    "basic configuration of the chart",
    "password is required",
    "metadataOptions.httpTokens: required",
    "httpTokens=required",
    "secretName: karpenter-cert",
    'secrets "sh.helm.release.v1.karpenter.v3" is forbidden',
    'secrets is forbidden: User "system:serviceaccount:kube-system:karpdash" cannot list resource "secrets"',
    "unable to mount secret: not found",
    "tokenRefresh: 15m",
    "automountServiceAccountToken: true",
    "password=$(PASSWORD)",
    "password: <removed>",
    "kms:DescribeKey on key/1234abcd-12ab-34cd-56ef-1234567890ab",
    "i-0123456789abcdef0",
    "subnet-0a1b2c3d4e5f60718",
    "ami-0123456789abcdef0",
    "AROAIOSFODNN7EXAMPLEX:karpdash",
    "-----BEGIN CERTIFICATE-----",
    "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM",
    "karpenter.sh/provisioner-name=default",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "2026-11-22T06:34:00Z",
    "spec.template.spec.requirements[key=karpenter.sh/capacity-type]",
    "HTTP 401: Unauthorized",
    "kubernetes.io/service-account-token",
    "x509: certificate signed by unknown authority",
)
