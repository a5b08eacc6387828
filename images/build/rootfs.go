package build

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// The users of the images. The numbers of nginx, haproxy, nonroot and pause are those of
// the publishers' images.
const passwd = `root:x:0:0:root:/root:/usr/sbin/nologin
www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin
haproxy:x:99:99:haproxy:/var/lib/haproxy:/usr/sbin/nologin
nginx:x:101:101:nginx:/nonexistent:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
nonroot:x:65532:65532:nonroot:/home/nonroot:/usr/sbin/nologin
`

const group = `root:x:0:
www-data:x:33:
haproxy:x:99:
nginx:x:101:
nogroup:x:65534:
nonroot:x:65532:
`

// minimal returns the root of an image with one static program.
func minimal() tree {
	t := tree{}
	t.dir("tmp", 0o1777)
	t.file("etc/passwd", 0o644, []byte(passwd))
	t.file("etc/group", 0o644, []byte(group))
	return t
}

// debian returns the root of an image from Debian packages.
func debian(ctx context.Context, cache debCache, debs []deb) (tree, error) {
	t := minimal()
	if err := t.unpackAll(ctx, cache, debs); err != nil {
		return nil, err
	}
	for _, dir := range mergedDirs() {
		if _, ok := t["usr/"+dir]; ok {
			t.link(dir, "usr/"+dir)
		}
	}
	t.dir("tmp", 0o1777)
	t.dir("run", 0o755)
	t.link("var/run", "/run")
	return t, nil
}

func (t tree) unpackAll(ctx context.Context, cache debCache, debs []deb) error {
	files, err := cache.fetch(ctx, debs)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := t.unpack(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// withRoots adds the CA certificates of Debian's ca-certificates at the paths that Go
// programs and OpenSSL read. The package generates that file during its installation, so
// it is generated here.
func (t tree) withRoots(ctx context.Context, cache debCache, debs []deb) error {
	unpacked := tree{}
	if err := unpacked.unpackAll(ctx, cache, debs); err != nil {
		return err
	}
	var bundle bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(unpacked)) {
		if strings.HasPrefix(name, "usr/share/ca-certificates/") && path.Ext(name) == ".crt" {
			bundle.Write(bytes.TrimSpace(unpacked[name].content))
			bundle.WriteByte('\n')
		}
	}
	if bundle.Len() == 0 {
		return fmt.Errorf("package ca-certificates holds no certificates below usr/share/ca-certificates")
	}
	t.file("etc/ssl/certs/ca-certificates.crt", 0o644, bundle.Bytes())
	return nil
}
