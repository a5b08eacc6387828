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
		"quoted key":       {func(o *cluster.ObjectStore) { o.AccessKey = `a"b` }, "s3.access_key"},
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

// TestBackupURL: the members copy their snapshots where they have a store, credentials of it
// and a timer.
func TestBackupURL(t *testing.T) {
	t.Parallel()
	hosts := []cluster.Host{{Name: "m1", Address: "10.0.0.1", Roles: []string{"master"}}}
	full := cluster.ObjectStore{Endpoint: "https://minio.example:9000", Bucket: "backups", Prefix: "prod", AccessKey: "a", SecretKey: "s"}
	for want, change := range map[string]func(*cluster.EtcdBackup){
		"https://minio.example:9000/backups/prod":             func(*cluster.EtcdBackup) {},
		"https://minio.example/backups":                       func(b *cluster.EtcdBackup) { b.S3.Endpoint, b.S3.Prefix = "https://minio.example:443/", "" },
		"https://backups.minio.example:9000/prod":             func(b *cluster.EtcdBackup) { b.S3.Addressing = "virtual" },
		"https://backups.s3.eu-west-1.amazonaws.com/prod":     func(b *cluster.EtcdBackup) { b.S3.Endpoint, b.S3.Region = "", "eu-west-1" },
		"https://s3.us-east-1.amazonaws.com/backups/prod":     func(b *cluster.EtcdBackup) { b.S3.Endpoint, b.S3.Addressing = "", "path" },
		"https://s3.us-east-1.amazonaws.com/backups.one/prod": func(b *cluster.EtcdBackup) { b.S3.Endpoint, b.S3.Bucket = "", "backups.one" },
	} {
		var spec cluster.Spec
		spec.Etcd.Backup.S3 = full
		change(&spec.Etcd.Backup)
		if c, err := cluster.Resolve(spec, hosts); err != nil || c.Etcd.BackupURL != want {
			t.Errorf("%v, want %s; %v", c.Etcd.BackupURL, want, err)
		}
	}
	for name, change := range map[string]func(*cluster.EtcdBackup){
		"no store":       func(b *cluster.EtcdBackup) { b.S3 = cluster.ObjectStore{} },
		"no credentials": func(b *cluster.EtcdBackup) { b.S3.AccessKey, b.S3.SecretKey = "", "" },
		"no timer":       func(b *cluster.EtcdBackup) { b.Schedule = "never" },
	} {
		var spec cluster.Spec
		spec.Etcd.Backup.S3 = full
		change(&spec.Etcd.Backup)
		c, err := cluster.Resolve(spec, hosts)
		if err != nil || c.Etcd.BackupURL != "" {
			t.Errorf("%s: %v, %v", name, c.Etcd.BackupURL, err)
			continue
		}
		for _, owned := range cluster.OwnedDirs(c, c.Nodes["m1"]) {
			for _, file := range owned.Keep {
				if strings.Contains(file, "s3") || strings.Contains(file, "copy") {
					t.Errorf("%s: the host keeps %s", name, file)
				}
			}
		}
	}
}
