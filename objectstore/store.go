package objectstore

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Config has the address and the credentials of the store. The environment and the files of
// AWS come before AccessKey and SecretKey, see [Open].
type Config struct {
	Endpoint string // URL without a path; empty for Amazon S3 in the region
	Region   string // default us-east-1
	// Addressing is path when the bucket is in the path of URLs, virtual when it is in the name
	// of the host; empty or auto: virtual for Amazon without an endpoint, path elsewhere.
	Addressing string
	CA         string // certificates in PEM form; empty for those that the machine trusts
	AccessKey  string // empty for none
	SecretKey  string // empty for none
}

// maxSinglePut is the size in bytes of the largest object that S3 takes in one request
// (docs.aws.amazon.com/AmazonS3, "Uploading objects").
const maxSinglePut = 5 << 30

// Store is a client of an object store. Store is safe for concurrent use.
type Store struct {
	client *minio.Client
	// wholeUpTo is the size in bytes up to which a file is sent in one request. Larger ones
	// are sent in parts of this size at most.
	wholeUpTo int64
	transport *boundedTransport
}

// Open returns a client with the credentials of the environment (AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY), or else of the files of AWS (~/.aws/credentials, or
// AWS_SHARED_CREDENTIALS_FILE and AWS_PROFILE), or else of the configuration. Open asks the
// store nothing, and fails when there are no credentials.
func Open(c Config) (*Store, error) {
	endpoint := c.Endpoint
	if endpoint == "" {
		endpoint = "https://s3." + c.Region + ".amazonaws.com"
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("the object store's endpoint %q is no URL: use https://HOST or https://HOST:PORT", endpoint)
	}
	transport, err := newTransport(c.CA)
	if err != nil {
		return nil, err
	}
	found := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{},
		&credentials.FileAWSCredentials{},
		&credentials.Static{Value: credentials.Value{AccessKeyID: c.AccessKey, SecretAccessKey: c.SecretKey, SignerType: credentials.SignatureV4}},
	})
	if value, err := found.GetWithContext(nil); err != nil || value.AccessKeyID == "" {
		return nil, errors.New("there are no credentials of the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write ~/.aws/credentials, or set access_key and secret_key of cluster.etcd.backup.s3 in the inventory")
	}
	bounded := &boundedTransport{transport, slowestSpan}
	lookup := minio.BucketLookupPath
	switch {
	case c.Addressing == "virtual":
		lookup = minio.BucketLookupDNS
	case c.Addressing != "path" && c.Endpoint == "":
		lookup = minio.BucketLookupAuto // by path when the bucket's name has dots, which no certificate covers
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds: found, Secure: u.Scheme == "https", Transport: bounded, Region: c.Region, BucketLookup: lookup, MaxRetries: 1, // a retry of the client reads a file from which its first attempt may still read
		TrailingHeaders: true, // the client sends no checksum without it
	})
	if err != nil {
		return nil, fmt.Errorf("the object store %s: %w", endpoint, err)
	}
	return &Store{client: client, wholeUpTo: maxSinglePut, transport: bounded}, nil
}
