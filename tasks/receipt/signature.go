package receipt

import (
	"io"
	"os"
	"slices"
	"strings"

	"deployer/engine"
)

// claimPath is the receipt that says that deployer installs on this host.
const claimPath = Dir + "/host.json"

// laid are files of deployer whose names other installations use too. When the receipts are
// lost, the first line of a file shows that deployer wrote it.
var laid = []string{
	"/etc/systemd/system/etcd.service",
	"/etc/systemd/system/containerd.service",
	"/etc/systemd/system/kubelet.service",
	"/etc/systemd/system/deployer-proxy.service",
}

// signature is the first line of files that deployer renders from templates.
const signature = "# Written by deployer"

// Claim records that deployer installs on this host. A module calls it before it
// writes where another installation would be detected, so that the next run
// recognises its own files.
func Claim(sys engine.System) error {
	if noted(sys) {
		return nil
	}
	return Write(sys, claimPath, struct {
		Run string `json:"run"`
	}{sys.RunID()})
}

// Claimed reports whether an earlier run has installed something on this host. When
// receipts are lost, the installed files decide.
func Claimed(sys engine.System) bool {
	return noted(sys) || slices.ContainsFunc(laid, func(path string) bool { return Signed(sys, path) })
}

func noted(sys engine.System) bool {
	_, err := os.Stat(sys.Path(claimPath))
	return err == nil
}

// jsonBegin is before the signature in a JSON file, where it is the first key.
const jsonBegin = `{"`

// Signed reports whether a file begins with deployer's signature.
func Signed(sys engine.System, path string) bool {
	f, err := os.Open(sys.Path(path))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	begin := make([]byte, len(jsonBegin)+len(signature))
	n, _ := io.ReadFull(f, begin) // what a shorter file has is compared too
	return strings.HasPrefix(strings.TrimPrefix(string(begin[:n]), jsonBegin), signature)
}
