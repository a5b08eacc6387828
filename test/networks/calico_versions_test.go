//go:build lab

package networks

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/images"
	"deployer/test/harness"
)

// builtCalico is the version of Calico in the artifacts of the machine. Module proxies serve no other, so
// the other versions of these scenarios are copies of the same programs under other names: their images,
// pods and objects change as those of two versions do, what the programs say of themselves does not.
const builtCalico = "v3.28.4"

// calicoVersions adds versions of Calico to the artifacts of a site: copies of the one that is built.
// In broken ones, the image of calico-node is that of the controllers, which never becomes ready there.
func calicoVersions(s *harness.Site, copies, broken []string) {
	s.T.Helper()
	dir := s.T.TempDir()
	from := s.Files.Artifacts()
	index, err := images.ReadIndex(from)
	if err != nil {
		s.T.Fatal(err)
	}
	other := ""
	for i := range index.Entries {
		e := &index.Entries[i]
		link(s.T, filepath.Join(from, e.File), filepath.Join(dir, e.File))
		if e.Name == "calico-kube-controllers" {
			other = e.File
		}
	}
	for _, e := range index.Entries {
		if e.Version != builtCalico {
			continue
		}
		for i, version := range append(copies, broken...) {
			one := e
			one.Version, one.File = version, strings.ReplaceAll(e.File, builtCalico, version)
			source, names := e.File, []string{builtCalico, version}
			if e.Name == "calico-node" && i >= len(copies) {
				source, names = other, append(names, "calico/kube-controllers", "calico/node")
			}
			if e.Kind != images.KindImage {
				link(s.T, filepath.Join(from, e.File), filepath.Join(dir, one.File))
			} else {
				one.SHA256, one.Size = renameImage(s.T, filepath.Join(from, source), filepath.Join(dir, one.File), names...)
				for _, e := range index.Entries {
					if e.File == source {
						one.Manifest = e.Manifest
					}
				}
			}
			index.Put(one)
		}
	}
	if err := index.Write(dir); err != nil {
		s.T.Fatal(err)
	}
	s.Edit(func(inv map[string]any) { harness.Section(inv, "artifacts")["source"] = dir })
}

// link makes a file of a directory available in another one.
func link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(from, to); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
}

// renameImage copies an image archive, with texts in its index replaced, and returns the digest and the
// size of the copy.
func renameImage(t *testing.T, from, to string, oldnew ...string) (digest string, size int64) {
	t.Helper()
	replace := strings.NewReplacer(oldnew...)
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r, w := tar.NewReader(bytes.NewReader(content)), tar.NewWriter(&out)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if header.Name == "index.json" || header.Name == "manifest.json" {
			text = []byte(replace.Replace(string(text)))
			header.Size = int64(len(text))
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(out.Bytes())
	return hex.EncodeToString(sum[:]), int64(out.Len())
}
