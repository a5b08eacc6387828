package objectstore

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"github.com/minio/minio-go/v7"
)

// advice is the advice for errors of stores, by their codes
// (docs.aws.amazon.com/AmazonS3/latest/API, "Error responses").
var advice = map[string]string{
	"AccessDenied":                   "the credentials may not do that: writing a backup needs s3:PutObject, reading it back and restoring s3:GetObject, a list s3:ListBucket",
	"InvalidAccessKeyId":             "the store does not know the access key: check AWS_ACCESS_KEY_ID, ~/.aws/credentials, and access_key of cluster.etcd.backup.s3",
	"SignatureDoesNotMatch":          "the secret key does not belong to the access key: check AWS_SECRET_ACCESS_KEY, ~/.aws/credentials, and secret_key of cluster.etcd.backup.s3",
	"NoSuchBucket":                   "create the bucket, or correct its name",
	"NoSuchKey":                      "list what there is with deployer etcd backups",
	"RequestTimeTooSkewed":           "the clock of this machine differs from that of the store: correct it",
	"EntityTooLarge":                 "the store does not take objects of this size: raise its limit",
	"QuotaExceeded":                  "the store is full: raise the quota of the bucket, or remove old backups there",
	"XMinioStorageFull":              "the store is full: make room there",
	"XMinioAdminBucketQuotaExceeded": "the store is full: raise the quota of the bucket, or remove old backups there",
}

// Error is a request that the store has answered with an error, or that did not reach it.
type Error struct {
	Doing  string // writing, reading, ...
	At     Location
	Status int // of HTTP; 0 when the store did not answer
	Advice string
	Err    error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %v", e.Doing, e.At, e.Err)
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// explained returns an error with advice.
func explained(doing string, at Location, err error) error {
	if errors.Is(err, context.Canceled) {
		return &Error{Doing: doing, At: at, Err: context.Canceled}
	}
	out := &Error{Doing: doing, At: at, Err: err}
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		out.Advice = "name the authority of the store's certificate with ca of cluster.etcd.backup.s3, or AWS_CA_BUNDLE"
		return out
	}
	var wrong misbehavior
	switch {
	case errors.As(err, &wrong):
		out.Err, out.Advice = wrong, "check the endpoint, and who operates the store"
		return out
	case errors.Is(err, context.DeadlineExceeded):
		out.Err = fmt.Errorf("the store needs more than %s", listTimeout)
		out.Advice = "name a longer prefix, or try again"
		return out
	}
	answer := minio.ToErrorResponse(err)
	if answer.StatusCode == 0 {
		out.Advice = "check that the store can be reached, and its endpoint; then run the command again"
		return out
	}
	out.Status, out.Advice = answer.StatusCode, advice[answer.Code]
	if out.Advice == "" && answer.StatusCode == http.StatusInsufficientStorage {
		out.Advice = "the store is full: make room there"
	}
	// The answer to HEAD has no text.
	out.Err = fmt.Errorf("%s (%s, HTTP %d)", printable(answer.Message), printable(answer.Code), answer.StatusCode)
	return out
}

// NotReadable reports whether the store has answered that an object does not exist, or that the
// credentials may not read it: without the right to list, Amazon S3 answers the latter for both.
func NotReadable(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Status == http.StatusNotFound || e.Status == http.StatusForbidden)
}

// refused reports whether the store has refused a write before it took anything, so that
// there is nothing to remove.
func refused(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Doing == "writing" && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusTooManyRequests
}

// transient reports whether another attempt may succeed: the store did not answer, or had an
// error of its own.
func transient(err error) bool {
	var e *Error
	if !errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return false
	}
	var unknown x509.UnknownAuthorityError
	return e.Status == 0 && !errors.As(err, &unknown) || e.Status >= 500 || e.Status == http.StatusTooManyRequests
}
