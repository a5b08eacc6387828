package images

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const chartContent = "the archive of a chart"

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// chartResolver returns a resolver with one chart and an empty store.
func chartResolver(t *testing.T, a Artifact, logins Logins) *Resolver {
	t.Helper()
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lock, err := ReadLock(filepath.Join(t.TempDir(), LockName))
	if err != nil {
		t.Fatal(err)
	}
	a.Name, a.Kind = "chart-shop", KindChart
	c := &Catalogue{}
	c.Add(a)
	return &Resolver{Catalogue: c, Store: store, Lock: lock, Source: WithCharts(NewUpstream(logins), logins)}
}

func fetchedChart(t *testing.T, r *Resolver, version string) (string, error) {
	t.Helper()
	ref := Ref{Name: "chart-shop", Version: version, Arch: AnyArch}
	if err := r.Fetch(t.Context(), []Ref{ref}, nil); err != nil {
		return "", err
	}
	blob, err := r.Resolve(t.Context(), ref)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(blob.Path)
	return string(content), err
}

func TestChartOfARegistry(t *testing.T) {
	address := newRegistry(t, nil)
	push := func(tag string, kind types.MediaType, content string) {
		t.Helper()
		img, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{Layer: static.NewLayer([]byte(content), kind), MediaType: kind})
		if err != nil {
			t.Fatal(err)
		}
		target, err := name.ParseReference(address + "/charts/shop:" + tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(target, img); err != nil {
			t.Fatal(err)
		}
	}
	push("1.2.3_build4", chartLayer, chartContent)
	push("2.0.0", types.OCILayer, "an image")
	r := chartResolver(t, Artifact{URL: "oci://" + address + "/charts/shop"}, nil)
	if got, err := fetchedChart(t, r, "1.2.3+build4"); err != nil || got != chartContent {
		t.Errorf("got %q, %v", got, err)
	}
	pin, _ := r.Lock.Pin(Ref{Name: "chart-shop", Version: "1.2.3+build4", Arch: AnyArch})
	if pin.SHA256 != digestOf(chartContent) || pin.Source != "oci://"+address+"/charts/shop:1.2.3_build4" {
		t.Errorf("pin %+v", pin)
	}
	if _, err := fetchedChart(t, r, "2.0.0"); err == nil || !strings.Contains(err.Error(), "is no chart of Helm") {
		t.Errorf("an image: %v", err)
	}
	push("1.2.3_build4", chartLayer, "another archive")
	again := chartResolver(t, Artifact{URL: "oci://" + address + "/charts/shop"}, nil)
	again.Lock = r.Lock
	if _, err := fetchedChart(t, again, "1.2.3+build4"); !errors.Is(err, ErrMismatch) {
		t.Errorf("a moved tag: %v", err)
	}
}

func TestChartOfARepository(t *testing.T) {
	var logins Logins
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "word" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/base/index.yaml":
			fmt.Fprintf(w, "entries:\n  shop:\n  - {version: 1.0.0, digest: %s, urls: [files/shop-1.0.0.tgz]}\n  - {version: 0.9.0, urls: [x.tgz]}\n  - {version: 0.8.0, digest: %[1]s, urls: [\"file:///etc/passwd\"]}\n  - {version: 0.7.0, digest: %s, urls: [files/shop-1.0.0.tgz]}\n", digestOf(chartContent), digestOf("other"))
		case "/base/files/shop-1.0.0.tgz":
			fmt.Fprint(w, chartContent)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	logins = Logins{host: {Username: "user", Password: "word"}}
	r := chartResolver(t, Artifact{URL: server.URL + "/base", Chart: "shop"}, logins)
	if got, err := fetchedChart(t, r, "v1.0.0"); err != nil || got != chartContent {
		t.Errorf("got %q, %v", got, err)
	}
	for version, want := range map[string]string{"0.9.0": "states no SHA-256", "0.8.0": "no http or https address", "0.7.0": "mismatch", "3.0.0": "has no chart shop of version 3.0.0"} {
		if _, err := fetchedChart(t, r, version); err == nil || !strings.Contains(err.Error(), want) && !errors.Is(err, ErrMismatch) {
			t.Errorf("%s: %v", version, err)
		}
	}
	if _, err := fetchedChart(t, chartResolver(t, Artifact{URL: server.URL + "/base", Chart: "shop"}, nil), "1.0.0"); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("without a login: %v", err)
	}
}
