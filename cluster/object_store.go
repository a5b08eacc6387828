package cluster

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Forms of ObjectStore.Addressing; the third one is path.
const (
	AddressingAuto    = "auto"
	AddressingVirtual = "virtual"
)

// ObjectStore is the `cluster.etcd.backup.s3:` section: a bucket of an S3-compatible object
// store. ObjectStore is unused when Bucket is empty.
type ObjectStore struct {
	// URL of the store without a path; empty for Amazon S3 in the region.
	Endpoint string `yaml:"endpoint" json:"endpoint" doc:"URL of the object store, such as https://minio.example:9000; default: Amazon S3 in the region."`
	// Bucket of the backups; empty for no object store.
	Bucket string `yaml:"bucket" json:"bucket" doc:"Bucket of the backups."`
	// Prefix of the names of the objects, without a slash at its end.
	Prefix string `yaml:"prefix" json:"prefix" doc:"Prefix of the names of the objects, such as clusters/prod; a slash follows it."`
	// Region of the bucket.
	Region string `yaml:"region" json:"region" default:"us-east-1" doc:"Region of the bucket."`
	// auto, path or virtual.
	Addressing string `yaml:"addressing" json:"addressing" enum:"auto,path,virtual" default:"auto" doc:"Where the name of the bucket is in URLs: path (https://ENDPOINT/BUCKET/...), virtual (https://BUCKET.ENDPOINT/...), or auto: virtual for Amazon without an endpoint, path elsewhere."`
	// Certificates in PEM form; empty for the authorities that the machine trusts.
	CA string `yaml:"ca" json:"ca" doc:"Certificates in PEM form of the authorities that sign the store's certificate; default: the CA certificates of the machine."`
	// ID of the access key; empty for none.
	AccessKey string `yaml:"access_key" json:"access_key" doc:"ID of the access key, with secret_key."`
	// The secret access key; empty for none.
	SecretKey string `yaml:"secret_key" json:"secret_key" doc:"The secret access key, as !env NAME or !secret TEXT. With it the members copy their scheduled snapshots to the store, for which it needs s3:PutObject and nothing else. Commands use it when the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) and the files of AWS (~/.aws/credentials) have none."`
}

// keySecretKey is the key of the inventory whose value must be marked as secret.
const keySecretKey = "cluster.etcd.backup.s3.secret_key"

var (
	// bucketName is the form of names of buckets (docs.aws.amazon.com/AmazonS3, "General
	// purpose bucket naming rules").
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	// objectPrefix has the characters that need no escapes in URLs and shells.
	objectPrefix = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`)
	regionName   = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
	// accessKeyID has the characters that need no quotes in settings of curl.
	accessKeyID = regexp.MustCompile(`^[A-Za-z0-9_.@=+/:-]+$`)
	// secretKey excludes what ends a line or a word.
	secretKey = regexp.MustCompile(`^[\x21-\x7e]+$`)
)

func (o ObjectStore) withDefaults() ObjectStore {
	o.Region = cmp.Or(o.Region, "us-east-1")
	o.Addressing = cmp.Or(o.Addressing, AddressingAuto)
	return o
}

// Configured reports whether there is an object store.
func (o ObjectStore) Configured() bool { return o.Bucket != "" }

// url returns the URL below which the members copy their scheduled snapshots, without a
// slash at its end: that of the bucket and the prefix. The URL is empty when they copy none: they
// save none, or the inventory has no bucket or no credentials for them.
func (b EtcdBackup) url() string {
	o := b.S3
	if !b.Scheduled() || !o.Configured() || o.SecretKey == "" {
		return ""
	}
	endpoint, virtual := o.Endpoint, o.Addressing == AddressingVirtual
	if endpoint == "" {
		endpoint = "https://s3." + o.Region + ".amazonaws.com"
		// No certificate covers a name with further dots.
		virtual = virtual || o.Addressing == AddressingAuto && !strings.Contains(o.Bucket, ".")
	}
	scheme, host, _ := strings.Cut(strings.TrimSuffix(endpoint, "/"), "://")
	// Clients leave the port of the scheme out, and the name of the host is signed.
	host = strings.TrimSuffix(host, map[string]string{"https": ":443", "http": ":80"}[scheme])
	out := scheme + "://" + host + "/" + o.Bucket
	if virtual {
		out = scheme + "://" + o.Bucket + "." + host
	}
	if o.Prefix != "" {
		out += "/" + o.Prefix
	}
	return out
}

// checkObjectStore checks cluster.etcd.backup.s3.
func (c *checker) checkObjectStore() {
	o, section := c.spec.Etcd.Backup.S3, "cluster.etcd.backup.s3"
	if !o.Configured() {
		if o.Endpoint != "" || o.Prefix != "" || o.CA != "" || o.AccessKey != "" || o.SecretKey != "" {
			c.add("bad-object-store", section, "it has no bucket: name the one that the backups go to")
		}
		return
	}
	if !bucketName.MatchString(o.Bucket) {
		c.add("bad-object-store", section+".bucket", "%q is no name of a bucket: use 3 to 63 lowercase letters, digits, dots and dashes", o.Bucket)
	}
	if o.Prefix != "" && !objectPrefix.MatchString(o.Prefix) {
		c.add("bad-object-store", section+".prefix", "%q is no prefix: use letters, digits, dots, dashes and underscores, with single slashes between them", o.Prefix)
	}
	if !regionName.MatchString(o.Region) {
		c.add("bad-object-store", section+".region", "%q is no name of a region", o.Region)
	}
	if o.Endpoint != "" {
		u, err := url.Parse(o.Endpoint)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
			c.add("bad-object-store", section+".endpoint", "%q is no endpoint: use https://HOST or https://HOST:PORT; the bucket has a key of its own", o.Endpoint)
		}
	}
	if o.CA != "" {
		if err := certificates(o.CA); err != nil {
			c.add("bad-certificate", section+".ca", "%v: give the PEM text of the authority's certificate", err)
		}
	}
	if (o.AccessKey == "") != (o.SecretKey == "") {
		c.add("bad-object-store", section, "access_key and secret_key belong together: set both, or none")
	}
	if o.AccessKey != "" && !accessKeyID.MatchString(o.AccessKey) {
		c.add("bad-object-store", section+".access_key", "it has characters that no access key has")
	}
	if o.SecretKey != "" && !secretKey.MatchString(o.SecretKey) {
		c.add("bad-object-store", section+".secret_key", "it has spaces or characters that are not of ASCII")
	}
}

// PlainSecrets returns a problem for each value of a cluster that has to be secret and that
// the inventory does not mark as secret. isSecret reports whether a text is marked.
func PlainSecrets(c *Cluster, isSecret func(string) bool) Problems {
	out := slices.Concat(plainRegistryPasswords(c, isSecret), plainProxyPasswords(c, isSecret), plainProxyKey(c, isSecret), plainPeerPasswords(c, isSecret))
	if key := c.Etcd.Backup.S3.SecretKey; key != "" && !isSecret(key) {
		out = append(out, Problem{Code: "plain-secret", Subject: keySecretKey, Message: "the secret key would be visible in output: write !env NAME, which reads it from an environment variable, or !secret TEXT"})
	}
	return out
}
