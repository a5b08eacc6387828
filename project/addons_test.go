package project

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/images"
)

// addonSite writes an inventory with one add-on, whose settings are given, and files beside it.
func addonSite(t *testing.T, settings string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["inventory.yaml"] = "cluster:\n  name: lab\n  addons:\n    - {name: shop, " + settings + "}\nhosts: {m1: {address: 10.0.0.1}}\nroles: {master: [m1]}\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "inventory.yaml")
}

const prices = "{apiVersion: v1, kind: ConfigMap, metadata: {name: prices}}\n"

func TestAddonsOfAnInventory(t *testing.T) {
	file := addonSite(t, "manifests: [addons, sealed.yaml.age]", map[string]string{"addons/a.yaml": prices, "sealed.yaml.age": "sealed"})
	if err := os.Symlink("a.yaml", filepath.Join(filepath.Dir(file), "addons", "b.txt")); err != nil {
		t.Fatal(err)
	}
	open := func(name string, _ []byte) ([]byte, error) {
		return []byte("{apiVersion: v1, kind: Secret, metadata: {name: code}}"), nil
	}
	p, err := LoadCluster(file, Options{Open: open})
	if err != nil {
		t.Fatal(err)
	}
	if set := *p.Addons; len(set) != 1 || len(set[0].Objects) != 2 || set[0].Namespace != "default" {
		t.Errorf("add-ons %+v", set)
	}
	for _, name := range []string{"addons/a.yaml", "sealed.yaml.age"} {
		if p.Digests()[filepath.Join(filepath.Dir(file), name)] == "" {
			t.Errorf("%s is not among the files of the project", name)
		}
	}
	if _, err := LoadCluster(file, Options{}); err == nil || !strings.Contains(err.Error(), "inventory.yaml:4:7: cluster.addons[0]: add-on \"shop\": reading sealed.yaml.age: it is encrypted") {
		t.Errorf("without a key: %v", err)
	}
}

func TestAddonFilesThatAreNone(t *testing.T) {
	for settings, want := range map[string]string{
		"manifests: [none.yaml]":          "inventory.yaml:4:7: cluster.addons[0]: add-on \"shop\": reading none.yaml: no such file",
		"manifests: [/dev/null]":          "it is no regular file",
		"manifests: [a.yaml], wate: true": "unknown key \"wate\" in addons[0] of cluster",
		"namespace: A":                    "inventory.yaml:4:20: cluster.addons[0].namespace: add-on \"shop\": \"A\" is no name",
	} {
		_, err := LoadCluster(addonSite(t, settings, map[string]string{"a.yaml": prices}), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

// TestAddonsOfAnUnapprovedRevision opens no file outside of the revision.
func TestAddonsOfAnUnapprovedRevision(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	if err := os.WriteFile(outside, []byte(prices), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{outside, "../" + filepath.Base(filepath.Dir(outside)) + "/outside.yaml", "link.yaml", ".git/a.yaml", "dir"} {
		file := addonSite(t, "manifests: ["+path+"]", map[string]string{".git/a.yaml": prices})
		dir := filepath.Dir(file)
		for from, to := range map[string]string{"link.yaml": outside, "dir": filepath.Dir(outside)} {
			if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := LoadCluster(file, Options{Confined: dir})
		if err == nil || !errors.Is(err, ErrOutside) && !strings.Contains(err.Error(), "escapes") && !strings.Contains(err.Error(), "leads out") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestChartOfARepository renders the add-on when its chart is fetched, and not before.
func TestChartOfARepository(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	packed := chartArchive(t, map[string]string{
		"shop/Chart.yaml":            "{apiVersion: v2, name: shop, version: 1.0.0}\n",
		"shop/templates/prices.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: prices}, data: {tea: {{ .Values.tea | quote }}}}\n",
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/index.yaml" {
			fmt.Fprintf(w, "entries: {shop: [{version: 1.0.0, digest: %x, urls: [shop.tgz]}]}\n", sha256.Sum256(packed))
			return
		}
		_, _ = w.Write(packed)
	}))
	t.Cleanup(server.Close)
	file := addonSite(t, "chart: shop, version: 1.0.0, repository: "+server.URL+", values: {tea: !secret hunter2}", map[string]string{})
	load := func() *Project {
		t.Helper()
		p, err := LoadCluster(file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if chart := p.Needed[len(p.Needed)-1]; chart.Name != "chart-shop" {
			t.Fatalf("the chart is not among the artifacts: %v", p.Needed)
		}
		p.Needed = p.Needed[len(p.Needed)-1:]
		return p
	}
	p := load()
	before := (*p.Addons)[0]
	if !before.Unfetched {
		t.Error("the chart was fetched already")
	}
	shared := p.Addons
	if err := p.Fetch(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if a := (*shared)[0]; a.Unfetched || len(a.Objects) != 1 {
		t.Errorf("after the fetch: %+v", a)
	}
	again := (*load().Addons)[0]
	if again.Unfetched || again.Digest != (*shared)[0].Digest || again.Sources != (*shared)[0].Sources || again.Sources == before.Sources {
		t.Errorf("with the lock file: %+v", again)
	}
}

// TestDeliveredImages makes the images of an add-on artifacts, and takes those of the catalogue where
// they are the same.
func TestDeliveredImages(t *testing.T) {
	file := addonSite(t, "manifests: [a.yaml], images: deliver", map[string]string{"a.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{image: \"registry.k8s.io/pause:3.10.1\"}, {image: \"quay.io:5000/a/b:v1\"}]}}\n"})
	p, err := LoadCluster(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []any{map[string]any{"name": "image-quay.io-5000--a--b", "version": "v1"}, map[string]any{"name": "pause", "version": "3.10.1"}}
	if diff := cmp.Diff(want, p.AddonImages()); diff != "" {
		t.Error(diff)
	}
	ref := images.Ref{Name: "image-quay.io-5000--a--b", Version: "v1", Arch: "amd64"}
	if name, err := p.Artifacts.ImageName(ref); !slices.Contains(p.Needed, ref) || err != nil || name != "quay.io:5000/a/b:v1" {
		t.Errorf("needed %v, image %q, %v", p.Needed, name, err)
	}
}

func chartArchive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	archive := tar.NewWriter(pack)
	for name, text := range files {
		err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))})
		if err == nil {
			_, err = archive.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), pack.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
