package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/tasks/tasktest"
)

// tarball returns an archive with the given headers. A header without mode gets 0644;
// the size is that of the content.
func tarball(t *testing.T, format string, members ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	packer, err := compressor(&out, format)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(packer)
	for _, h := range members {
		body := h.PAXRecords["test.content"]
		h.PAXRecords = nil
		h.Size = int64(len(body))
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if strings.HasSuffix(h.Name, "/") && h.Mode == 0o644 {
			h.Mode = 0o755
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func plainFile(name, content string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, PAXRecords: map[string]string{"test.content": content}}
}

// tree lists the files below a directory of the host: name -> type, mode, content.
func tree(t *testing.T, sys *tasktest.System, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	root := sys.Path(dir)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text += " " + string(content)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			text = "-> " + target
		}
		out[strings.TrimPrefix(p, root+"/")] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUnpacksEveryFormat(t *testing.T) {
	t.Parallel()
	bz2, err := base64.StdEncoding.DecodeString("QlpoOTFBWSZTWWV/fVcAAG3fgMmQQAB1ACAAAADgAB4ACAggAFQymQAAaCKmkZB6jQH2NCEQvkCJWnU3J2tZBKBzBNVjiBMKQmtWRXs4T9xmaJJA+LuSKcKEgyv76rg=")
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := zip.NewWriter(&zipped)
	entry, err := z.Create("a") // as from a system without permissions
	if err != nil {
		t.Fatal(err)
	}
	if _, err := entry.Write([]byte("A\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	a := plainFile("a", "A\n")
	for name, content := range map[string][]byte{
		"tar": tarball(t, "tar", a), "gz": tarball(t, "gz", a), "zst": tarball(t, "zst", a), "xz": tarball(t, "xz", a), "bz2": bz2, "zip": zipped.Bytes(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, m := range []*Unpack{{Blob: "blob", Dest: "/srv/x"}, {From: "/tmp/archive", Dest: "/srv/x"}} {
				sys := tasktest.New(t)
				digest := sys.AddBlob(content)
				if m.Blob != "" {
					m.Blob = digest
				}
				sys.Write(t, "/tmp/archive", string(content), 0o644)
				tasktest.Converge(t, sys, m)
				if diff := cmp.Diff(map[string]string{"a": "-rw-r--r-- A\n"}, tree(t, sys, "/srv/x")); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestUnpackOptions(t *testing.T) {
	t.Parallel()
	members := []tar.Header{
		{Name: "./", Typeflag: tar.TypeDir}, {Name: "app-1/", Typeflag: tar.TypeDir}, {Name: "app-1/private/", Typeflag: tar.TypeDir, Mode: 0o500},
		plainFile("app-1/private/key", "K"), plainFile("/app-1/README", "R"),
		{Name: "app-1/bin/app", Typeflag: tar.TypeReg, Mode: 0o4755}, {Name: "app-1/current", Typeflag: tar.TypeSymlink, Linkname: "bin"},
		{Name: "app-1/bin/again", Typeflag: tar.TypeLink, Linkname: "app-1/bin/app", Mode: 0o755},
	}
	tests := map[string]struct {
		module Unpack
		want   map[string]string
	}{
		"all": {Unpack{}, map[string]string{
			"app-1": "drwxr-xr-x", "app-1/private": "dr-x------", "app-1/private/key": "-rw-r--r-- K", "app-1/README": "-rw-r--r-- R",
			"app-1/bin": "drwxr-xr-x", "app-1/bin/app": "-rwxr-xr-x ", "app-1/bin/again": "-rwxr-xr-x ", "app-1/current": "-> bin",
		}},
		"one level off": {Unpack{Strip: 1}, map[string]string{
			"private": "dr-x------", "private/key": "-rw-r--r-- K", "README": "-rw-r--r-- R",
			"bin": "drwxr-xr-x", "bin/app": "-rwxr-xr-x ", "bin/again": "-rwxr-xr-x ", "current": "-> bin",
		}},
		"two levels off": {Unpack{Strip: 2}, map[string]string{"key": "-rw-r--r-- K", "app": "-rwxr-xr-x ", "again": "-rwxr-xr-x "}},
		"included":       {Unpack{Strip: 1, Include: []string{"bin"}, Exclude: []string{"bin/ag*"}}, map[string]string{"bin": "drwxr-xr-x", "bin/app": "-rwxr-xr-x "}},
		"excluded":       {Unpack{Exclude: []string{"*/private/", "app-1/bin"}}, map[string]string{"app-1": "drwxr-xr-x", "app-1/README": "-rw-r--r-- R", "app-1/current": "-> bin"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			m := tt.module
			m.Dest, m.Blob = "/opt/app", sys.AddBlob(tarball(t, "gz", members...))
			tasktest.Converge(t, sys, &m)
			if diff := cmp.Diff(tt.want, tree(t, sys, "/opt/app")); diff != "" {
				t.Error(diff)
			}
			if n := len(sys.Fetched()); n != 1 {
				t.Errorf("%d transfers, want 1", n)
			}
			// otherwise the read-only directory prevents its removal by the test
			_ = os.Chmod(sys.Path("/opt/app/app-1/private"), 0o700)
			_ = os.Chmod(sys.Path("/opt/app/private"), 0o700)
		})
	}
}

func TestUnpackIsIdempotent(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	m := &Unpack{Name: "app", Dest: "/opt", Blob: sys.AddBlob(tarball(t, "gz", plainFile("etc/conf", "default"), plainFile("etc/other", "o"), plainFile("bin", "1")))}
	tasktest.Converge(t, sys, m)
	sys.Write(t, "/opt/etc/conf", "mine", 0o600) // what somebody changed stays
	if change := tasktest.Check(t, sys, m); change.Needed {
		t.Errorf("wants %+v", change.Effects)
	}
	before, err := os.Stat(sys.Path("/opt/etc/other"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(sys.Path("/opt/bin")); err != nil {
		t.Fatal(err)
	}
	kept := len(sys.Kept())
	change := tasktest.Converge(t, sys, m)
	if diff := cmp.Diff([]string{"/opt: unpack app again: bin of it missing"}, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/opt/etc/conf", "/opt/bin"}, sys.Kept()[kept:len(sys.Kept())]); diff != "" {
		t.Error(diff)
	}
	if after, err := os.Stat(sys.Path("/opt/etc/other")); err != nil || !os.SameFile(before, after) {
		t.Errorf("what was right was written again: %v", err)
	}
	m.Blob = sys.AddBlob(tarball(t, "gz", plainFile("bin", "2")))
	tasktest.Converge(t, sys, m)
	if got := sys.Read(t, "/opt/bin"); got != "2" {
		t.Errorf("content %q", got)
	}
	if change := tasktest.Check(t, sys, &Unpack{Blob: m.Blob, Dest: "/none", Creates: "/opt/bin"}); change.Needed {
		t.Error("unpacks though what it creates is there")
	}
}

// TestPathsOutsideOfDestAreRejected: names and links of a hostile archive, and links
// on the host, cannot lead out of dest.
func TestPathsOutsideOfDestAreRejected(t *testing.T) {
	t.Parallel()
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
	}
	tests := map[string]struct {
		members []tar.Header
		want    string
	}{
		"dots":                  {[]tar.Header{plainFile("../../etc/evil", "E")}, "leads out of the directory"},
		"dots inside":           {[]tar.Header{plainFile("a/../../etc/evil", "E")}, "leads out of the directory"},
		"through its own link":  {[]tar.Header{link("l", "/etc"), plainFile("l/evil", "E")}, "/opt/x/l is a symbolic link, and the archive has a directory there"},
		"through a link inside": {[]tar.Header{{Name: "d/", Typeflag: tar.TypeDir}, link("l", "d"), plainFile("l/evil", "E")}, "is a symbolic link"},
		"through the host's":    {[]tar.Header{plainFile("there/evil", "E")}, "/opt/x/there is a symbolic link"},
		"directory over a link": {[]tar.Header{{Name: "there/", Typeflag: tar.TypeDir}}, "/opt/x/there is a symbolic link"},
		"hard link to outside":  {[]tar.Header{{Name: "h", Typeflag: tar.TypeLink, Linkname: "../../etc/passwd"}}, "leads out of the directory"},
		"hard link over a link": {[]tar.Header{link("l", "/etc/passwd"), {Name: "h", Typeflag: tar.TypeLink, Linkname: "l"}, plainFile("h", "E")}, ""},
		"file over a link":      {[]tar.Header{plainFile("there", "mine")}, ""},
		"device":                {[]tar.Header{{Name: "null", Typeflag: tar.TypeChar}}, "neither a file, a directory nor a link"},
		"file over a directory": {[]tar.Header{plainFile("dir", "x")}, "/opt/x/dir is a directory, and the archive has a file there"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			sys.Write(t, "/etc/passwd", "root:x:0:0::/:/bin/sh\n", 0o644)
			sys.Mkdir(t, "/opt/x/dir")
			if err := os.Symlink("/etc", sys.Path("/opt/x/there")); err != nil {
				t.Fatal(err)
			}
			_, _, err := tasktest.Run(t, sys, &Unpack{Blob: sys.AddBlob(tarball(t, "tar", tt.members...)), Dest: "/opt/x"})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if diff := cmp.Diff(map[string]string{"passwd": "-rw-r--r-- root:x:0:0::/:/bin/sh\n"}, tree(t, sys, "/etc")); diff != "" {
				t.Error(diff)
			}
			for name := range tree(t, sys, "/opt/x") {
				if strings.Contains(name, "deployer") {
					t.Errorf("left behind: %s", name)
				}
			}
		})
	}
}

func TestUnpackErrors(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	good := tarball(t, "gz", plainFile("a/b", "x"))
	blob := sys.AddBlob(good)
	if err := os.Symlink("/etc", sys.Path("/link")); err != nil {
		t.Fatal(err)
	}
	for want, m := range map[string]*Unpack{
		"want either blob or from":  {Dest: "/x"},
		"not absolute":              {Dest: "x", Blob: blob},
		"cannot be negative":        {Dest: "/x", Blob: blob, Strip: -1},
		"nothing in it was chosen":  {Dest: "/x", Blob: blob, Strip: 5},
		"include: \"[\"":            {Dest: "/x", Blob: blob, Include: []string{"["}},
		"no archive /none":          {Dest: "/x", From: "/none"},
		"is neither a tar archive":  {Dest: "/x", Blob: sys.AddBlob([]byte(strings.Repeat("text ", 300)))},
		"unexpected EOF":            {Dest: "/x", Blob: sys.AddBlob(good[:len(good)-12])},
		"symbolic link to /etc":     {Dest: "/link", Blob: blob},
		"fetching blob 0123: the c": {Dest: "/x", Blob: "0123"},
	} {
		if _, _, err := tasktest.Run(t, sys, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	c := &tasktest.Controller{Files: map[string]string{"app.tgz": "bytes"}}
	kind, m, err := (&Unarchive{Src: "app.tgz", Dest: "/opt", Strip: 1, Owner: "app"}).Prepare(context.Background(), c)
	want := &Unpack{Name: "app.tgz", Blob: c.AddBlob([]byte("bytes")), Dest: "/opt", Strip: 1, Owner: "app"}
	if diff := cmp.Diff(want, m); kind != "unpack" || err != nil || diff != "" {
		t.Error(kind, err, diff)
	}
	_, m, err = (&Unarchive{Src: "/tmp/app.tgz", Dest: "/opt", RemoteSrc: true}).Prepare(context.Background(), c)
	if diff := cmp.Diff(&Unpack{Name: "/tmp/app.tgz", From: "/tmp/app.tgz", Dest: "/opt"}, m); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, u := range []*Unarchive{{Dest: "/opt"}, {Src: "none", Dest: "/opt"}} {
		if _, _, err := u.Prepare(context.Background(), c); err == nil {
			t.Errorf("%+v: no error", u)
		}
	}
}
