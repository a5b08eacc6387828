package cluster_test

import (
	"strings"
	"testing"

	"deployer/cluster"
)

func TestObjectStoreIsChecked(t *testing.T) {
	t.Parallel()
	hosts := []cluster.Host{{Name: "m1", Address: "10.0.0.1", Roles: []string{"master"}}}
	good := cluster.ObjectStore{Endpoint: "https://minio.example:9000", Bucket: "backups", Prefix: "clusters/prod-1", AccessKey: "AKIA", SecretKey: "a+b/c="}
	for name, tt := range map[string]struct {
		change func(*cluster.ObjectStore)
		want   string // empty for no problem
	}{
		"good":             {func(*cluster.ObjectStore) {}, ""},
		"Amazon":           {func(o *cluster.ObjectStore) { o.Endpoint, o.Region = "", "eu-central-1" }, ""},
		"no credentials":   {func(o *cluster.ObjectStore) { o.AccessKey, o.SecretKey = "", "" }, ""},
		"no bucket":        {func(o *cluster.ObjectStore) { o.Bucket = "" }, "no bucket"},
		"bucket":           {func(o *cluster.ObjectStore) { o.Bucket = "My_Bucket" }, "s3.bucket"},
		"prefix":           {func(o *cluster.ObjectStore) { o.Prefix = "prod/" }, "s3.prefix"},
		"quoted prefix":    {func(o *cluster.ObjectStore) { o.Prefix = "a'b" }, "s3.prefix"},
		"path in endpoint": {func(o *cluster.ObjectStore) { o.Endpoint += "/backups" }, "s3.endpoint"},
		"no scheme":        {func(o *cluster.ObjectStore) { o.Endpoint = "minio:9000" }, "s3.endpoint"},
		"region":           {func(o *cluster.ObjectStore) { o.Region = "a b" }, "s3.region"},
		"authority":        {func(o *cluster.ObjectStore) { o.CA = "x" }, "s3.ca"},
		"half credentials": {func(o *cluster.ObjectStore) { o.SecretKey = "" }, "belong together"},
		"two lines":        {func(o *cluster.ObjectStore) { o.SecretKey = "a\nb" }, "s3.secret_key"},
	} {
		store := good
		tt.change(&store)
		var spec cluster.Spec
		spec.Etcd.Backup.S3 = store
		c, err := cluster.Resolve(spec, hosts)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		case err != nil && strings.Contains(err.Error(), good.SecretKey):
			t.Errorf("%s: the problem has the secret: %v", name, err)
		}
		if err == nil && store.SecretKey != "" {
			if p := cluster.PlainSecrets(c, func(text string) bool { return text == store.SecretKey }); len(p) != 0 {
				t.Errorf("%s: a marked secret: %v", name, p)
			}
			if p := cluster.PlainSecrets(c, func(string) bool { return false }); len(p) != 1 || strings.Contains(p.Error(), store.SecretKey) {
				t.Errorf("%s: a secret in the clear: %v", name, p)
			}
		}
	}
}
