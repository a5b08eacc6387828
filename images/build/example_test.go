package build

import (
	"os"
	"path/filepath"
	"testing"

	"deployer/images"
	"deployer/images/imagefile"
)

// TestExampleOfFelix builds the example of an image whose program the user gives.
func TestExampleOfFelix(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "examples", "images", "felix.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string][]byte{"felix.yaml": content, "calico-node": []byte("felix")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := fakeBuilder(t)
	b.fakeDeb(t, deb{Name: "iproute2", Version: "6.1.0-3", Arch: "amd64", Depends: []string{"libc6"}}, map[string]string{"sbin/ip": "ip"})
	if b.images, err = imagefile.Open(dir); err != nil {
		t.Fatal(err)
	}
	b.options.Names = []string{"felix"}
	outputs, err := b.outputs(t.Context(), "v1.36.3")
	if err != nil || len(outputs) != 1 {
		t.Fatalf("%d images, %v", len(outputs), err)
	}
	entry, err := b.produce(t.Context(), outputs[0])
	if err != nil {
		t.Fatal(err)
	}
	archive := ArchivePath(b.options.Dir, entry)
	sums := layerSums(t, archive)
	for _, name := range []string{"./usr/bin/calico-node", "./usr/sbin/conntrack", "./usr/sbin/ipset", "./usr/sbin/ip", "./usr/libexec/shim", "./usr/bin/kmod", "./etc/ssl/certs/ca-certificates.crt"} {
		if sums[name] == "" {
			t.Errorf("the image has no %s", name)
		}
	}
	img, err := images.OpenImage(archive)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Config.Entrypoint; len(got) != 2 || got[0] != "/usr/bin/calico-node" {
		t.Errorf("the entrypoint is %q", got)
	}
}
