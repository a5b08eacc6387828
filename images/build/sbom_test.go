package build

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"

	"deployer/images"
	"deployer/images/imagefile"
)

// TestSBOM compares the SPDX document of an image on top of another one with the
// content of the layers of the image, and with the installed packages.
func TestSBOM(t *testing.T) {
	b := fakeBuilder(t)
	dir := t.TempDir()
	own := "name: mine\nimage: registry.example/mine\nversion: \"1\"\nbase: nginx\npackages: [runc]\ncertificate_authorities: true\n" +
		"binaries: [{from: coredns, program: coredns, path: /usr/bin/coredns}]\nfiles: [{path: /etc/mine.conf, content: mine}, {path: /etc/nginx/nginx.conf, content: replaced}]\n"
	if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.images, err = imagefile.Open(dir); err != nil {
		t.Fatal(err)
	}
	b.options.Names = []string{"mine"}
	outputs, err := b.outputs(t.Context(), "v1.36.3")
	if err != nil {
		t.Fatal(err)
	}
	var o *output
	var entry images.IndexEntry
	for _, o = range outputs { // nginx, and mine on top of it
		if entry, err = b.produce(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	archive := ArchivePath(b.options.Dir, entry)
	file, err := os.Open(archive + SBOMSuffix)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	document, err := spdxjson.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	found := layerSums(t, archive)
	if len(found) < 10 {
		t.Fatalf("the image has %d files only", len(found))
	}

	elements := map[spdx.ElementID]bool{document.SPDXIdentifier: true}
	listed := map[string]string{}
	for _, f := range document.Files {
		elements[f.FileSPDXIdentifier] = true
		listed[f.FileName] = sumOf(f.Checksums, spdx.SHA256)
		if len(sumOf(f.Checksums, spdx.SHA1)) != 40 {
			t.Errorf("%s has no SHA-1, which SPDX requires", f.FileName)
		}
	}
	if diff := cmp.Diff(found, listed); diff != "" {
		t.Errorf("files of the layers and of the SBOM: %s", diff)
	}

	want := map[string]string{
		"registry.example/mine 1": strings.TrimPrefix(entry.Manifest, "sha256:"),
		"coredns coredns-v1.14.7": found["./usr/bin/coredns"],
		"shim shim":               found["./usr/libexec/shim"],
	}
	for _, d := range o.image.packages() {
		want[d.Name+" "+d.Version] = d.SHA256
	}
	for _, name := range []string{"nginx", "libssl3", "libc6", "runc", "ca-certificates"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(p string) bool { return strings.HasPrefix(p, name+" ") }) {
			t.Errorf("package %s is not among those of the image", name)
		}
	}
	got := map[string]string{}
	for _, p := range document.Packages {
		elements[p.PackageSPDXIdentifier] = true
		got[p.PackageName+" "+p.PackageVersion] = sumOf(p.PackageChecksums, spdx.SHA256)
		if p.PackageSPDXIdentifier == "deb-nginx" && (len(p.PackageExternalReferences) != 1 || p.PackageExternalReferences[0].Locator != "pkg:deb/debian/nginx@1.22.1-9%2Bdeb12u10?arch=amd64") {
			t.Errorf("nginx has the package URLs %+v", p.PackageExternalReferences)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages of the image and of the SBOM: %s", diff)
	}

	related := map[spdx.ElementID]bool{}
	for _, r := range document.Relationships {
		from, to := r.RefA.ElementRefID, r.RefB.ElementRefID
		wantFrom, kind := spdx.ElementID("image"), spdx.RelationshipContains
		if to == "image" {
			wantFrom, kind = document.SPDXIdentifier, spdx.RelationshipDescribes
		}
		if from != wantFrom || r.Relationship != kind || !elements[to] || related[to] {
			t.Errorf("relationship %s %s %s", from, r.Relationship, to)
		}
		related[to] = true
	}
	if len(related) != len(elements)-1 {
		t.Errorf("%d of %d elements have a relationship", len(related), len(elements)-1)
	}
	if image := document.Packages[0]; !image.FilesAnalyzed || image.PackageVerificationCode == nil || len(image.PackageVerificationCode.Value) != 40 {
		t.Errorf("the image has no verification code of its files: %+v", image)
	}
}

// layerSums returns the SHA-256 of the regular files in the layers of an image, by
// their names in SPDX; for a file in two layers, that of the upper one.
func layerSums(t *testing.T, archive string) map[string]string {
	t.Helper()
	img, err := images.OpenImage(archive)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(content); ; {
			header, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if header.Typeflag != tar.TypeReg {
				continue
			}
			sum := sha256.New()
			if _, err := io.Copy(sum, r); err != nil {
				t.Fatal(err)
			}
			sums["./"+header.Name] = hex.EncodeToString(sum.Sum(nil))
		}
		if err := content.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return sums
}

func sumOf(checksums []spdx.Checksum, algorithm spdx.ChecksumAlgorithm) string {
	for _, c := range checksums {
		if c.Algorithm == algorithm {
			return c.Value
		}
	}
	return fmt.Sprintf("no %s", algorithm)
}
