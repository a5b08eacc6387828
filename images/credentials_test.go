package images

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// private returns the host of a registry that requires a user, with an image
// team/picture:1.
func private(t *testing.T, user, password string) string {
	t.Helper()
	inner := "http://" + newRegistry(t, nil)
	target, err := url.Parse(inner)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(target.Host + "/team/picture:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, randomImage(t, "amd64")); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.URL.Scheme, r.URL.Host, r.RequestURI = target.Scheme, target.Host, ""
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		for key, values := range answer.Header {
			w.Header()[key] = values
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// withoutCredentials hides the credentials of the user who runs the test.
func withoutCredentials(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	for _, variable := range []string{"HOME", "DOCKER_CONFIG", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(variable, home)
	}
	t.Setenv("REGISTRY_AUTH_FILE", "")
	t.Setenv(EnvAuths, "")
	return home
}

func auths(t *testing.T, host, user, password string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"auths": map[string]any{host: map[string]any{"auth": base64.StdEncoding.EncodeToString([]byte(user + ":" + password))}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCredentialsOfRegistries pulls from a registry that requires a user, with
// credentials from each place.
func TestCredentialsOfRegistries(t *testing.T) {
	host := private(t, "reader", "s3cret")
	pull := func(logins Logins) error {
		ref, err := name.ParseReference(host + "/team/picture:1")
		if err != nil {
			return err
		}
		_, err = remote.Image(ref, remote.WithAuthFromKeychain(Keychain(logins)))
		return err
	}
	home := withoutCredentials(t)
	if err := pull(nil); err == nil {
		t.Error("an image is pulled without credentials")
	}
	if err := pull(Logins{host: {"reader", "s3cret"}}); err != nil {
		t.Error("credentials of the inventory:", err)
	}
	if err := pull(Logins{host: {"reader", "wrong"}}); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Error("a wrong password:", err)
	}
	t.Setenv(EnvAuths, auths(t, "https://"+host+"/v2/", "reader", "s3cret"))
	if err := pull(nil); err != nil {
		t.Error("credentials of the environment:", err)
	}
	if _, err := PullImage(t.Context(), host+"/team/picture:1", "amd64"); err != nil {
		t.Error("the base of an image:", err)
	}
	t.Setenv(EnvAuths, `{"auths": {"`+host+`": {"auth": "s3cret"}}}`)
	if err := pull(nil); err == nil || !strings.Contains(err.Error(), EnvAuths) || strings.Contains(err.Error(), "s3cret") {
		t.Error("credentials that cannot be read:", err)
	}
	t.Setenv(EnvAuths, "")
	if err := os.WriteFile(filepath.Join(home, "config.json"), []byte(auths(t, host, "reader", "s3cret")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := pull(nil); err != nil {
		t.Error("credentials of docker's file:", err)
	}
}

func TestRegistryOfKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"registry.example:5000": "registry.example:5000", "https://registry.example/v2/": "registry.example",
		"https://index.docker.io/v1/": "docker.io", "docker.io": "docker.io",
	} {
		if got := registryOfKey(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// TestCredentialsOfFiles reads a file of a mirror that requires a user.
func TestCredentialsOfFiles(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != "reader" || p != "s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for want, logins := range map[bool]Logins{true: {host: {"reader", "s3cret"}}, false: nil} {
		source, err := NewMirror(server.URL, logins)
		if err != nil {
			t.Fatal(err)
		}
		content, err := source.(*httpSource).get(t.Context(), server.URL+"/file", 0)
		if (err == nil) != want {
			t.Errorf("with credentials %v: %v", want, err)
		}
		if err == nil {
			content.Close()
		}
	}
}
