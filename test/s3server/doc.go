// Package s3server runs a real S3-compatible object store for tests: Versity S3
// Gateway (github.com/versity/versitygw) on a directory of the test, with TLS by an
// authority of the test. It is built from its Go module by the target s3-server of
// the Makefile, once for each user.
package s3server
