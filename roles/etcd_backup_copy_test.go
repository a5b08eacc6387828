package roles_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"deployer/objectstore"
	"deployer/test/s3server"
)

// copier runs the script that copies the snapshots of e1 to a real object store.
type copier struct {
	t      *testing.T
	dir    string // of the host's files
	script string
	path   string // PATH with programs that record their arguments
}

func newCopier(t *testing.T, server *s3server.Server) *copier {
	t.Helper()
	c := &copier{t: t, dir: t.TempDir()}
	files := newSite(t, "apart").files(t, "e1")
	for _, d := range []string{"snapshots", "bin"} {
		if err := os.Mkdir(filepath.Join(c.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c.write("authority", "# Written by deployer.\n"+server.CA)
	c.write("settings", files["/etc/deployer/etcd-backup-s3.conf"])
	c.path = filepath.Join(c.dir, "bin") + ":" + os.Getenv("PATH")
	for _, program := range []string{"curl", "sha256sum", "base64", "od", "tr", "cut", "sed", "date", "stat", "cat"} {
		real, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		c.write("bin/"+program, "#!/bin/sh\necho "+program+" \"$@\" >> "+filepath.Join(c.dir, "arguments")+"\nexec "+real+" \"$@\"\n")
		if err := os.Chmod(filepath.Join(c.dir, "bin", program), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c.script = strings.NewReplacer(append(authenticator(t, files), "/var/lib/deployer/etcd-snapshots", filepath.Join(c.dir, "snapshots"), "/etc/deployer/etcd-backup-s3.conf", filepath.Join(c.dir, "settings"),
		"/etc/deployer/etcd-backup-s3.crt", filepath.Join(c.dir, "authority"), "https://store.example:9000", server.Endpoint)...).Replace(files["/etc/deployer/etcd-backup-copy.sh"])
	return c
}

func (c *copier) write(name, content string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *copier) read(name string) string {
	c.t.Helper()
	content, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(content)
}

// run runs the script with a shell and checks whether it succeeds. No output and no argument
// of a program has the secret key.
func (c *copier) run(shell string, succeeds bool) string {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), shell, "-c", c.script)
	cmd.Env = append(os.Environ(), "PATH="+c.path)
	out, err := cmd.CombinedOutput()
	if (err == nil) != succeeds {
		c.t.Fatalf("the script ended with %v\n%s", err, out)
	}
	secret := strings.Split(c.read("settings"), "\n")[2]
	if strings.Contains(string(out)+c.read("arguments"), secret) {
		c.t.Errorf("the secret key is in the output or in arguments:\n%s\n%s", out, c.read("arguments"))
	}
	return string(out)
}

// TestEtcdBackupCopies copies snapshots with an account that may only write.
func TestEtcdBackupCopies(t *testing.T) {
	server := s3server.Start(t)
	server.Bucket("backups")
	server.Account("writer", "secret-of-the-writer", "backups", "s3:PutObject")
	long := strings.Repeat("a-long/secret+", 8)
	server.Bucket("others")
	server.Account("long", long, "others", "s3:PutObject")
	store, err := objectstore.Open(objectstore.Config{Endpoint: server.Endpoint, Region: "us-east-1", CA: server.CA, AccessKey: s3server.AccessKey, SecretKey: s3server.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	stored := func(want ...string) {
		t.Helper()
		list, err := store.List(t.Context(), objectstore.Location{Bucket: "backups"})
		var got []string
		for _, o := range list {
			got = append(got, o.Location.Key)
		}
		if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("the store has %v, %v; want %v", got, err, want)
		}
	}

	c := newCopier(t, server)
	large := string(bytes.Repeat([]byte("snapshot\x00"), 400_000))
	c.write("snapshots/scheduled-1.db", large)
	c.write("snapshots/scheduled-1.keys.age", "sealed")
	c.write("snapshots/scheduled-1.mac", "authentic")
	c.write("snapshots/20261123.db", "of deployer etcd backup")
	c.write("snapshots/scheduled-0.stored", "of a snapshot that was removed")
	if out := c.run("sh", true); !strings.Contains(out, "copied "+filepath.Join(c.dir, "snapshots/scheduled-1.db")) {
		t.Errorf("it says\n%s", out)
	}
	stored("prod/scheduled-1.db", "prod/scheduled-1.keys.age", "prod/scheduled-1.mac")
	back := filepath.Join(c.dir, "back")
	if err := store.Download(t.Context(), objectstore.Location{Bucket: "backups", Key: "prod/scheduled-1.db"}, back, 1<<30); err != nil {
		t.Fatal(err)
	}
	if c.read("back") != large {
		t.Error("the object is another one than the snapshot")
	}
	if left, _ := filepath.Glob(filepath.Join(c.dir, "snapshots/*.stored")); len(left) != 1 {
		t.Errorf("marks of copies: %v, want that of scheduled-1", left)
	}

	// No snapshot is copied twice; another shell behaves in the same way.
	for _, key := range []string{"prod/scheduled-1.keys.age", "prod/scheduled-1.mac"} {
		if err := store.Remove(t.Context(), objectstore.Location{Bucket: "backups", Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	c.write("snapshots/scheduled-2.db", "second")
	c.run("bash", true)
	stored("prod/scheduled-1.db", "prod/scheduled-2.db")

	// A snapshot whose copy failed stays, and is copied later.
	good, settings := c.script, c.read("settings")
	c.write("snapshots/scheduled-3.db", "third")
	c.script = strings.ReplaceAll(good, server.Endpoint, "https://127.0.0.1:1")
	if out := c.run("sh", false); !strings.Contains(out, "the store does not respond") || !strings.Contains(out, "stay on this host") {
		t.Errorf("without a store it says\n%s", out)
	}
	c.script = good
	c.write("settings", "# Comment.\nwriter\nwrong-secret\n")
	if out := c.run("sh", false); !strings.Contains(out, "HTTP 403 SignatureDoesNotMatch") {
		t.Errorf("with a wrong secret it says\n%s", out)
	}
	c.write("settings", settings)
	c.write("authority", newCopier(t, server).read("settings"))
	if out := c.run("sh", false); !strings.Contains(out, "the store does not respond") {
		t.Errorf("with another authority it says\n%s", out)
	}
	c.write("authority", server.CA)
	c.script = strings.ReplaceAll(good, "/backups/prod", "/others/prod")
	if out := c.run("sh", false); !strings.Contains(out, "HTTP 403 AccessDenied") {
		t.Errorf("for a bucket of others it says\n%s", out)
	}
	stored("prod/scheduled-1.db", "prod/scheduled-2.db")
	c.script = good
	c.run("sh", true)
	stored("prod/scheduled-1.db", "prod/scheduled-2.db", "prod/scheduled-3.db")

	// A secret that is longer than a block of SHA-256 is hashed first.
	c.write("settings", "# Comment.\nlong\n"+long+"\n")
	c.script = strings.ReplaceAll(good, "/backups/prod", "/others/prod")
	if out := c.run("sh", true); strings.Count(out, "copied ") != 3 {
		t.Errorf("to another bucket it says\n%s", out)
	}
}
