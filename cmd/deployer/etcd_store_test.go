package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"deployer/cluster"
	"deployer/objectstore"
	"deployer/test/s3server"
)

// TestBackupInObjectStore copies a backup to a real object store, lists it, and fetches it
// for a restore.
func TestBackupInObjectStore(t *testing.T) {
	server := s3server.Start(t) // before the test sets XDG_CACHE_HOME
	server.Bucket("backups")
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("HOME", dir)
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("BACKUP_SECRET", s3server.SecretKey)
	inventory := filepath.Join(dir, "inventory.yaml")
	write := func(secret any) {
		t.Helper()
		s3 := map[string]any{"endpoint": server.Endpoint, "bucket": "backups", "prefix": "prod", "ca": server.CA, "access_key": s3server.AccessKey, "secret_key": secret}
		text, err := yaml.Marshal(map[string]any{
			"cluster": map[string]any{"name": "prod", "etcd": map[string]any{"backup": map[string]any{"s3": s3}}},
			"hosts":   map[string]any{"m1": map[string]any{"address": "10.0.0.11"}}, "roles": map[string]any{"master": []string{"m1"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(inventory, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	deployer := func(code int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if got := run(t.Context(), append(args, "-i", inventory), strings.NewReader(""), &out, &out); got != code {
			t.Fatalf("deployer %v: exit code %d, want %d\n%s", args, got, code, out.String())
		}
		if strings.Contains(out.String(), s3server.SecretKey) {
			t.Errorf("deployer %v shows the secret key:\n%s", args, out.String())
		}
		return out.String()
	}

	write(s3server.SecretKey)
	requireTexts(t, deployer(exitUsage, "etcd", "backups"), "inventory.yaml:", "secret_key", "!env NAME")
	write(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!env", Value: "BACKUP_SECRET"})
	requireTexts(t, deployer(exitOK, "etcd", "backups"), "SNAPSHOT")

	spec := cluster.ObjectStore{Endpoint: server.Endpoint, Bucket: "backups", Region: "us-east-1", CA: server.CA, AccessKey: s3server.AccessKey, SecretKey: s3server.SecretKey}
	c := &cluster.Cluster{Etcd: cluster.Etcd{Backup: cluster.EtcdBackup{S3: spec}}}
	backup, err := newStoreCopy(c, "s3://backups/prod")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"20261123-101502.db": "snapshot", "20261123-101502.keys.age": "keys", "20261123-101502.mac": "mac"} {
		if err := os.WriteFile(filepath.Join(backup.dir.Path, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var printed bytes.Buffer
	if err := backup.upload(t.Context(), &printed); err != nil {
		t.Fatal(err)
	}
	if want := "copied to s3://backups/prod/20261123-101502.keys.age\ncopied to s3://backups/prod/20261123-101502.mac\ncopied to s3://backups/prod/20261123-101502.db\n"; printed.String() != want {
		t.Errorf("it prints %q, want %q", printed.String(), want)
	}
	requireTexts(t, deployer(exitOK, "etcd", "backups"), "s3://backups/prod/20261123-101502.db", "0.0 MiB", "yes")
	requireTexts(t, deployer(exitOK, "etcd", "backups", "s3://backups", "--output", "json"), `"snapshot": "s3://backups/prod/20261123-101502.db"`, `"size": 8`, `"keys": true`)
	requireTexts(t, deployer(exitFailed, "etcd", "backups", "s3://missing"), "NoSuchBucket", "create the bucket")

	o := restoreOptions{snapshot: "s3://backups/prod/20261123-101502.db", keys: "s3://backups/prod/20261123-101502.keys.age"}
	if err := o.keyFiles(); err != nil {
		t.Fatal(err)
	}
	if err := o.fetchFromStore(t.Context(), c, "id"); err != nil {
		t.Fatal(err)
	}
	fetched := filepath.Join(dir, "deployer/etcd-restore")
	if diff := cmp.Diff([]string{filepath.Join(fetched, "id.db"), filepath.Join(fetched, "id.keys.age")}, []string{o.snapshot, o.keys}); diff != "" {
		t.Error(diff)
	}
	for path, want := range map[string]string{o.snapshot: "snapshot", o.keys: "keys"} {
		if content, err := os.ReadFile(path); string(content) != want || err != nil {
			t.Errorf("%s has %q, %v; want %q", path, content, err, want)
		}
	}
	o = restoreOptions{snapshot: "s3://backups/prod/none.db", keys: "s3://backups/prod/20261123-101502.keys.age"}
	if err := o.fetchFromStore(t.Context(), c, "other"); err == nil {
		t.Error("a snapshot that does not exist is fetched")
	}
	if left, _ := filepath.Glob(filepath.Join(fetched, "other*")); len(left) > 0 {
		t.Errorf("a failed fetch leaves %v", left)
	}

	// The keys alone are no backup.
	writable := filepath.Join(backup.dir.Path, "20261123-101502.db")
	backup.to = objectstore.Location{Bucket: "backups", Key: "second"}
	if err := os.Remove(writable); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(writable, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := backup.upload(t.Context(), &printed); err == nil {
		t.Error("a snapshot that cannot be read is copied")
	}
	if list, err := backup.store.List(t.Context(), backup.to); err != nil || len(list) > 0 {
		t.Errorf("after a failure the store has %v, %v", list, err)
	}
	if err := backup.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(backup.dir.Path); !os.IsNotExist(err) {
		t.Errorf("the local copy is there after the backup: %v", err)
	}
}
