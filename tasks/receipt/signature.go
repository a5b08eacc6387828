package receipt

import (
	"io"
	"os"
	"slices"
	"strings"

	"deployer/engine"
)

// claimPath is the receipt which says that deployer installs on this host.
const claimPath = Dir + "/host.json"

// laid are files that deployer lays down under names that other installations
// use too. Where the receipts were lost, their first line tells whose they are.
var laid = []string{
	"/etc/systemd/system/etcd.service",
	"/etc/systemd/system/containerd.service",
	"/etc/systemd/system/kubelet.service",
	"/etc/systemd/system/deployer-proxy.service",
}

// signature begins the files that deployer writes from templates.
const signature = "# Written by deployer"

// Claim notes that deployer installs on this host. Whatever puts something in a
// place where another installation would be looked for calls it before, so that
// the next run knows its own leftovers from somebody else's.
func Claim(sys engine.System) error {
	if noted(sys) {
		return nil
	}
	return Write(sys, claimPath, struct {
		Run string `json:"run"`
	}{sys.RunID()})
}

// Claimed reports whether an earlier run has installed something on this host.
// Receipts may be lost; what was installed still says who did it.
func Claimed(sys engine.System) bool {
	return noted(sys) || slices.ContainsFunc(laid, func(path string) bool { return Signed(sys, path) })
}

func noted(sys engine.System) bool {
	_, err := os.Stat(sys.Path(claimPath))
	return err == nil
}

// Signed reports whether a file begins as those that deployer writes.
func Signed(sys engine.System, path string) bool {
	f, err := os.Open(sys.Path(path))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	begin := make([]byte, len(signature))
	_, err = io.ReadFull(f, begin)
	return err == nil && strings.HasPrefix(string(begin), signature)
}
