package build

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"deployer/images/imagefile"
)

// fakeBuilder returns a builder whose programs and Debian packages are files with fixed
// contents: no compiler, no apt, and the same images on every machine.
func fakeBuilder(t *testing.T) *builder {
	t.Helper()
	set, err := imagefile.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{
		catalogue: catalogueOf(t), images: set, moduleArchives: map[string]fs.FS{}, lock: &PackageLock{path: filepath.Join(t.TempDir(), PackageLockName), Format: packageLockFormat},
		arch: "amd64", goVersion: "go-fake", progress: &reporter{},
		options: Options{Dir: t.TempDir(), Work: t.TempDir(), Kubernetes: []string{"v1.36.3"}, Arch: "amd64"},
	}
	b.debs = debCache{dir: t.TempDir(), arch: "amd64", lists: "fake", known: map[string]deb{}}
	for _, d := range []struct {
		name, version string
		depends       []string
		files         map[string]string
	}{
		{"libc6", "2.36-9+deb12u10", nil, map[string]string{"lib/x86_64-linux-gnu/libc.so.6": "libc", "usr/share/doc/libc6/copyright": "LGPL", "usr/share/man/man1/x.1": "dropped"}},
		{"ca-certificates", "20230311", nil, map[string]string{"usr/share/ca-certificates/mozilla/A.crt": "A\n", "usr/share/ca-certificates/mozilla/B.crt": "B\n"}},
		{"conntrack", "1:1.4.7-1+b2", []string{"libc6"}, map[string]string{"usr/sbin/conntrack": "conntrack"}},
		{"ipset", "7.17-1", []string{"libc6"}, map[string]string{"sbin/ipset": "ipset"}},
		{"iptables", "1.8.9-2", []string{"libc6"}, map[string]string{"usr/sbin/xtables-nft-multi": "multi"}},
		{"kmod", "30", []string{"libc6"}, map[string]string{"bin/kmod": "kmod"}},
		{"nftables", "1.0.6", []string{"libc6"}, map[string]string{"usr/sbin/nft": "nft"}},
		{"nginx", "1.22.1-9+deb12u10", []string{"libc6", "libssl3"}, map[string]string{"usr/sbin/nginx": "nginx", "etc/nginx/nginx.conf": "conf"}},
		{"libnginx-mod-stream", "1.22.1-9+deb12u10", []string{"libc6"}, map[string]string{"usr/lib/nginx/modules/ngx_stream_module.so": "stream"}},
		{"libssl3", "3.0.15-1~deb12u1", []string{"libc6"}, map[string]string{"usr/lib/x86_64-linux-gnu/libssl.so.3": "ssl"}},
		{"runc", "1.1.5+ds1-1", []string{"libc6"}, map[string]string{"usr/sbin/runc": "runc"}},
		{"haproxy", "2.6.12-1+deb12u1", []string{"libc6", "libssl3"}, map[string]string{"usr/sbin/haproxy": "haproxy"}},
	} {
		b.fakeDeb(t, deb{Name: d.name, Version: d.version, Arch: "amd64", Depends: d.depends}, d.files)
	}
	for _, m := range []module{
		kubernetesModule("v1.36.3"), corednsModule("v1.14.7"), etcdModule("v3.6.8"),
		{name: "pause", own: true}, {name: "shim", own: true},
	} {
		key, err := m.key(b.goVersion, b.arch)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(b.options.Work, "modules", m.name+"-"+key, "bin")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, program := range []string{
			"pause", "shim", "coredns", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy",
			"server", "etcdctl", "etcdutl",
		} {
			if err := os.WriteFile(filepath.Join(dir, program), []byte("program "+program), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

// fakeDeb puts a package with these files into apt's lists and the cache of the builder.
// The files of shim and the other programs have no date, so the package has a fixed digest.
func (b *builder) fakeDeb(t *testing.T, d deb, files map[string]string) {
	t.Helper()
	content := debFile(t, files)
	sum := sha256.Sum256(content)
	d.SHA256 = hex.EncodeToString(sum[:])
	b.debs.known[d.Name] = d
	if err := os.WriteFile(b.debs.path(d), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// debFile returns a Debian package, which is an ar archive of two tars.
func debFile(t *testing.T, files map[string]string) []byte {
	t.Helper()
	packed := func(files map[string]string) []byte {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "./" + name, Mode: 0o755, Size: int64(len(files[name]))}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(files[name])); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	var out bytes.Buffer
	out.WriteString("!<arch>\n")
	for _, member := range []struct {
		name    string
		content []byte
	}{
		{"debian-binary", []byte("2.0\n")},
		{"control.tar", packed(map[string]string{"control": "Package: fake\nVersion: 1\nArchitecture: amd64\nMaintainer: x\nDescription: x\n"})},
		{"data.tar", packed(files)},
	} {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", member.name, 0, 0, 0, "100644", len(member.content))
		out.Write(member.content)
		if len(member.content)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}
