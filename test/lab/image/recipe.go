// Package image builds the root file system of a lab host: a Debian with systemd and
// sshd, built once by mmdebstrap and stored as an image of the container engine under a
// tag that is the hash of its recipe.
package image

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Repository is the name of the image; the tag is the recipe's hash.
const Repository = "localhost/deployer-lab"

// suite is Debian 12, the oldest Debian on which the lab runs Kubernetes 1.36.
const suite = "bookworm"

// packages are those of a bare host. runc and containerd are missing on purpose:
// deployer installs its own.
func packages() []string {
	return []string{
		"systemd", "systemd-sysv", "dbus", "libpam-systemd",
		"openssh-server", "sudo", "ca-certificates", "curl",
		"iproute2", "iptables", "nftables", "conntrack", "ipset", "kmod", "procps",
		"iputils-ping", "netcat-openbsd",
		"bird2", "nginx", "libnginx-mod-stream", "haproxy", "keepalived",
		"dnsmasq-base", // the lab's name server; it has no service on a host
	}
}

//go:embed rootfs
var files embed.FS

// arguments are mmdebstrap's arguments, without the output and the path of the hook, for
// a host with additional packages. Documentation and translations, a fifth of the size,
// are left out.
func arguments(more []string) []string {
	return []string{
		"--variant=minbase",
		`--aptopt=Acquire::Languages "none"`,
		"--dpkgopt=path-exclude=/usr/share/doc/*",
		"--dpkgopt=path-exclude=/usr/share/man/*",
		"--dpkgopt=path-exclude=/usr/share/locale/*",
		"--include=" + strings.Join(append(packages(), more...), ","),
	}
}

// Tag returns the image reference of this recipe with additional packages.
func Tag(more ...string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q\n", suite, arguments(more))
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := files.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(content), content)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("hashing the host image's recipe: %w", err)
	}
	return Repository + ":" + hex.EncodeToString(h.Sum(nil))[:16], nil
}

// unpack writes the hook and its files to a directory.
func unpack(dir string) (hook string, err error) {
	entries, err := files.ReadDir("rootfs")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		content, err := files.ReadFile("rootfs/" + e.Name())
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), content, 0o755); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "customize"), nil
}
