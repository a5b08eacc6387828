package objectstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/minio/minio-go/v7"

	"deployer/test/s3server"
	"deployer/test/server"
)

func TestParseLocation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Location{
		"s3://backups":                 {"backups", ""},
		"s3://backups/":                {"backups", ""},
		"s3://backups/clusters/prod/":  {"backups", "clusters/prod"},
		"s3://backups/prod/2026-1.db":  {"backups", "prod/2026-1.db"},
		"s3://":                        {},
		"s3:///name":                   {},
		"s3://backups/../other":        {},
		"s3://backups//name":           {},
		"s3://backups/name?versionId=": {},
		"/srv/backups":                 {},
	} {
		got, err := ParseLocation(text)
		if got != want || (err == nil) != (want.Bucket != "") {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if again, err := ParseLocation(got.String()); got.Bucket != "" && (err != nil || again != got) {
			t.Errorf("%s becomes %s, which is %+v, %v", text, got, again, err)
		}
	}
	if got := (Location{"b", ""}).Join("x.db").String() + " " + (Location{"b", "p"}).Join("x.db").String(); got != "s3://b/x.db s3://b/p/x.db" {
		t.Error(got)
	}
}

func TestConfigWithEnvironment(t *testing.T) {
	t.Parallel()
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(bundle, []byte("PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"AWS_ENDPOINT_URL": "https://b", "AWS_REGION": "eu-central-1", "AWS_CA_BUNDLE": bundle}
	got, err := Config{}.WithEnvironment(func(name string) string { return env[name] })
	if diff := cmp.Diff(Config{Endpoint: "https://b", Region: "eu-central-1", CA: "PEM"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	env["AWS_ENDPOINT_URL_S3"] = "https://c"
	given := Config{Region: "x", CA: "own"}
	if got, err = given.WithEnvironment(func(name string) string { return env[name] }); got.Endpoint != "https://c" || got.Region != "x" || got.CA != "own" || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	env["AWS_CA_BUNDLE"] = bundle + ".missing"
	if _, err = (Config{}).WithEnvironment(func(name string) string { return env[name] }); err == nil || !strings.Contains(err.Error(), "AWS_CA_BUNDLE") {
		t.Errorf("a bundle that is missing: %v", err)
	}
}

// withoutAWS hides the credentials of whoever runs the tests.
func withoutAWS(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
}

func configOf(s *s3server.Server) Config {
	return Config{Endpoint: s.Endpoint, Region: "us-east-1", CA: s.CA, AccessKey: s3server.AccessKey, SecretKey: s3server.SecretKey}
}

func open(t *testing.T, c Config) *Store {
	t.Helper()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// file returns the path of a file with random content.
func file(t *testing.T, size int) string {
	t.Helper()
	content := make([]byte, size)
	if _, err := rand.Read(content); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func requireSame(t *testing.T, a, b string) {
	t.Helper()
	left, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	if right, err := os.ReadFile(b); err != nil || !bytes.Equal(left, right) {
		t.Errorf("%s has %d bytes and %s %d, %v; want the same", a, len(left), b, len(right), err)
	}
}

// leftovers returns the objects of a bucket and its uploads of parts.
func leftovers(t *testing.T, s *s3server.Server, bucket string) (out []string) {
	t.Helper()
	for o := range s.Client.ListObjects(context.WithoutCancel(t.Context()), bucket, minio.ListObjectsOptions{Recursive: true}) {
		out = append(out, o.Key)
	}
	for o := range s.Client.ListIncompleteUploads(context.WithoutCancel(t.Context()), bucket, "", true) {
		out = append(out, "parts of "+o.Key)
	}
	return out
}

// TestObjectStore writes, lists and reads on a real server, and meets its errors.
func TestObjectStore(t *testing.T) {
	withoutAWS(t)
	server := s3server.Start(t)
	server.Bucket("backups")
	server.Bucket("parts")
	server.Account("writer", "secret-of-the-writer", "backups", "s3:PutObject")
	store := open(t, configOf(server))
	at := Location{"backups", "prod/20261123.db"}

	t.Run("a file comes back", func(t *testing.T) {
		from := file(t, 3<<20)
		if err := store.Upload(t.Context(), from, at); err != nil {
			t.Fatal(err)
		}
		info, err := server.Client.StatObject(t.Context(), at.Bucket, at.Key, minio.StatObjectOptions{Checksum: true})
		if err != nil || info.ChecksumSHA256 == "" || len(info.UserMetadata[metadataSHA256]) != 64 {
			t.Errorf("the object has the checksum %q and the metadata %v, %v", info.ChecksumSHA256, info.UserMetadata, err)
		}
		back := filepath.Join(t.TempDir(), "back")
		if err := store.Download(t.Context(), at, back, 1<<30); err != nil {
			t.Fatal(err)
		}
		requireSame(t, from, back)
		if info, err := os.Stat(back); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v; want mode 0600", info.Mode(), err)
		}
	})
	t.Run("a large file comes back", func(t *testing.T) {
		small := *store
		small.wholeUpTo = 50 << 20 // parts of 5 MiB, the smallest that S3 has
		from, back := file(t, 51<<20), filepath.Join(t.TempDir(), "back")
		if err := small.Upload(t.Context(), from, Location{"parts", "large"}); err != nil {
			t.Fatal(err)
		}
		if err := store.Download(t.Context(), Location{"parts", "large"}, back, 1<<30); err != nil {
			t.Fatal(err)
		}
		requireSame(t, from, back)
		if err := store.Remove(t.Context(), Location{"parts", "large"}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a list", func(t *testing.T) {
		if err := store.Upload(t.Context(), file(t, 10), Location{"backups", "production/other.db"}); err != nil {
			t.Fatal(err)
		}
		list, err := store.List(t.Context(), Location{"backups", "prod"})
		if err != nil || len(list) != 1 || list[0].Location != at || list[0].Size != 3<<20 || list[0].Written.IsZero() {
			t.Errorf("%+v, %v", list, err)
		}
	})
	t.Run("content that has changed", func(t *testing.T) {
		path := filepath.Join(server.Dir, at.Bucket, at.Key)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content[100]++
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "back")
		err = store.Download(t.Context(), at, to, 1<<30)
		if err == nil || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("%v, want that it is damaged", err)
		}
		if files, _ := filepath.Glob(to + "*"); len(files) > 0 {
			t.Errorf("a refused download leaves %v", files)
		}
		// The store's checksum is that of what was written, so only reading shows it.
		if err := store.verify(t.Context(), at, 5, []byte("x")); err == nil {
			t.Error("an object of another size is verified")
		}
	})
	for name, tt := range map[string]struct {
		config func(*Config)
		at     Location
		want   string
	}{
		"a bucket that does not exist":  {func(*Config) {}, Location{"other", "x"}, "create the bucket"},
		"an account that is not known":  {func(c *Config) { c.AccessKey = "nobody" }, at, "does not know the access key"},
		"a wrong secret":                {func(c *Config) { c.SecretKey = "wrong-secret" }, at, "does not belong to the access key"},
		"an account without rights":     {func(c *Config) { c.AccessKey, c.SecretKey = "writer", "secret-of-the-writer" }, Location{"parts", "x"}, "s3:PutObject"},
		"an authority that is not told": {func(c *Config) { c.CA = "" }, at, "AWS_CA_BUNDLE"},
		"a server that is not there":    {func(c *Config) { c.Endpoint = "https://127.0.0.1:1" }, at, "can be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			c := configOf(server)
			tt.config(&c)
			store := open(t, c)
			err := store.Upload(t.Context(), file(t, 10), tt.at)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.at.String()) {
				t.Errorf("uploading: %v\nwant %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), c.SecretKey) {
				t.Errorf("the error has the secret: %v", err)
			}
			if err := store.Download(t.Context(), tt.at, filepath.Join(t.TempDir(), "x"), 1<<30); err == nil {
				t.Error("the download succeeds")
			}
		})
	}
	t.Run("an object that cannot be read back", func(t *testing.T) {
		c := configOf(server)
		c.AccessKey, c.SecretKey = "writer", "secret-of-the-writer"
		err := open(t, c).Upload(t.Context(), file(t, 10), Location{"backups", "unread"})
		if err == nil || !strings.Contains(err.Error(), "reading back s3://backups/unread") || !strings.Contains(err.Error(), "could not be removed") {
			t.Errorf("%v; want that it cannot be read back, and not be removed", err)
		}
	})
	t.Run("no credentials", func(t *testing.T) {
		c := configOf(server)
		c.AccessKey, c.SecretKey = "", ""
		if _, err := Open(c); err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
			t.Errorf("%v", err)
		}
		t.Setenv("AWS_ACCESS_KEY_ID", s3server.AccessKey)
		t.Setenv("AWS_SECRET_ACCESS_KEY", s3server.SecretKey)
		c.AccessKey, c.SecretKey = "nobody", "nothing"
		if _, err := open(t, c).List(t.Context(), Location{"backups", ""}); err != nil {
			t.Errorf("with the credentials of the environment: %v", err)
		}
	})
	t.Run("an object that is not there", func(t *testing.T) {
		err := store.Download(t.Context(), Location{"backups", "none"}, filepath.Join(t.TempDir(), "x"), 1<<30)
		if err == nil || !strings.Contains(err.Error(), "deployer etcd backups") {
			t.Errorf("%v", err)
		}
	})
}

// limited runs the server with files of at most a MiB.
type limited struct{ server.Machine }

func (l *limited) Command(ctx context.Context, argv ...string) *exec.Cmd {
	return l.Machine.Command(ctx, append([]string{"bash", "-c", `ulimit -f 1024; exec "$0" "$@"`}, argv...)...)
}

// TestFullStore: a store that cannot save the content leaves no object.
func TestFullStore(t *testing.T) {
	withoutAWS(t)
	server := s3server.StartOn(t, &limited{})
	server.Bucket("backups")
	store := open(t, configOf(server))
	if err := store.Upload(t.Context(), file(t, 1000), Location{"backups", "small"}); err != nil {
		t.Fatal(err)
	}
	if err := store.Upload(t.Context(), file(t, 3<<20), Location{"backups", "large"}); err == nil || !strings.Contains(err.Error(), "writing s3://backups/large") {
		t.Errorf("%v", err)
	} else {
		t.Log(err)
	}
	if left := leftovers(t, server, "backups"); len(left) != 1 {
		t.Errorf("the store has %v, want the small object", left)
	}
}

// TestBrokenUpload: a connection that breaks, or a run that is interrupted, leaves nothing in
// the store.
func TestBrokenUpload(t *testing.T) {
	withoutAWS(t)
	server := s3server.Start(t)
	server.Bucket("backups")
	for name, tt := range map[string]struct {
		whole       int64 // size in bytes up to which a file is sent in one request
		interrupted bool
	}{
		"one request":               {maxSinglePut, false},
		"parts":                     {50 << 20, false},
		"one request, interrupted":  {maxSinglePut, true},
		"parts, a run that is over": {50 << 20, true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			var broken atomic.Bool
			relay := startRelay(t, strings.TrimPrefix(server.Endpoint, "https://"), 8<<20, 1000, func() {
				broken.Store(true)
				if tt.interrupted {
					interrupt()
				}
			})
			c := configOf(server)
			c.Endpoint = "https://" + relay
			store := open(t, c)
			store.wholeUpTo = tt.whole
			err := store.Upload(ctx, file(t, 60<<20), Location{"backups", "broken"})
			if err == nil || !broken.Load() || tt.interrupted != errors.Is(err, context.Canceled) {
				t.Errorf("%v, broken: %t", err, broken.Load())
			}
			if left := leftovers(t, server, "backups"); len(left) > 0 {
				t.Errorf("after %v the store has %v", err, left)
			}
		})
	}
}

// TestUploadIsTriedAgain: a connection that breaks once costs another attempt.
func TestUploadIsTriedAgain(t *testing.T) {
	withoutAWS(t)
	server := s3server.Start(t)
	server.Bucket("backups")
	var broken atomic.Int32
	c := configOf(server)
	c.Endpoint = "https://" + startRelay(t, strings.TrimPrefix(server.Endpoint, "https://"), 8<<20, 1, func() { broken.Add(1) })
	from, at := file(t, 20<<20), Location{"backups", "again"}
	if err := open(t, c).Upload(t.Context(), from, at); err != nil || broken.Load() != 1 {
		t.Fatalf("%v, broken %d times", err, broken.Load())
	}
	back := filepath.Join(t.TempDir(), "back")
	if err := open(t, c).Download(t.Context(), at, back, 1<<30); err != nil {
		t.Fatal(err)
	}
	requireSame(t, from, back)
}

// startRelay passes connections on to a server, and returns the relay's address. When all
// connections together have sent more than a number of bytes, the relay breaks each that
// sends more than a MiB, at most as often as times says, and calls breaking at the first.
func startRelay(t *testing.T, server string, limit int64, times int32, breaking func()) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	var once sync.Once
	var total atomic.Int64
	var breaks atomic.Int32
	open.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer client.Close()
				to, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer to.Close()
				open.Go(func() { _, _ = io.Copy(client, to); client.Close() })
				for own := int64(0); ; {
					n, err := io.CopyN(to, client, 64<<10)
					own += n
					if all := total.Add(n); err != nil {
						return
					} else if own > 1<<20 && all > limit && breaks.Add(1) <= times {
						once.Do(breaking)
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { listener.Close(); open.Wait() })
	return listener.Addr().String()
}
