package images

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// proxied is set in the process of the test that sends requests through a proxy:
// net/http reads the proxies of the environment once a process.
const proxied = "DEPLOYER_TEST_PROXIED"

// TestProxyOfTheEnvironment starts a process whose environment names a proxy, and
// checks its requests to the proxy: files, images and bases of images, but no hosts
// in NO_PROXY.
func TestProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.Host)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAskThroughProxy$")
	cmd.Env = append(os.Environ(), proxied+"=1", "HTTPS_PROXY="+proxy.URL, "HTTP_PROXY="+proxy.URL, "NO_PROXY=direct.invalid")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"CONNECT files.invalid:443", "GET plain.invalid", "CONNECT registry.invalid:443", "CONNECT base.invalid:443"} {
		if !slices.Contains(asked, want) {
			t.Errorf("the proxy was not asked %s, only %q", want, asked)
		}
	}
	if slices.ContainsFunc(asked, func(a string) bool { return strings.Contains(a, "direct.invalid") }) {
		t.Errorf("the proxy was asked for a host of NO_PROXY: %q", asked)
	}
}

// TestAskThroughProxy is the process of TestProxyOfTheEnvironment; every request fails.
func TestAskThroughProxy(t *testing.T) {
	if os.Getenv(proxied) == "" {
		t.Skip("only in the process of another test")
	}
	for _, base := range []string{"https://files.invalid", "http://plain.invalid", "https://direct.invalid"} {
		c := testCatalogue(t, base, "registry.invalid")
		for _, ref := range []Ref{toolRef, pictureRef} {
			a, err := c.Artifact(ref.Name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := NewUpstream(nil).Offer(t.Context(), a, ref); err == nil {
				t.Errorf("%s of %s is offered", ref, base)
			}
		}
	}
	if _, err := PullImage(t.Context(), "base.invalid/base:1", "amd64"); err == nil {
		t.Error("a base is pulled")
	}
}
