package kube

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnpackEntry(t *testing.T) {
	dir := t.TempDir()
	for _, h := range []tar.Header{
		{Name: "usr/sbin", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "usr/sbin/proxy", Typeflag: tar.TypeReg, Mode: 0o755},
		{Name: "sbin", Typeflag: tar.TypeSymlink, Linkname: "usr/sbin"},
		{Name: "usr/sbin/other", Typeflag: tar.TypeLink, Linkname: "usr/sbin/proxy"},
	} {
		if err := unpackEntry(strings.NewReader("program"), &h, dir); err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
	}
	for _, name := range []string{"sbin/proxy", "usr/sbin/other"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != "program" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "usr/sbin/proxy")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", info, err)
	}
	for _, name := range []string{"../x", "/etc/x", "a/../../x"} {
		if err := unpackEntry(strings.NewReader(""), &tar.Header{Name: name, Typeflag: tar.TypeReg}, dir); err == nil {
			t.Errorf("%s leads out of the image and is not refused", name)
		}
	}
}
