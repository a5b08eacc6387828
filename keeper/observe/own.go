package observe

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"deployer/keeper/config"
)

// Missing returns those of the addresses that no interface of this host has.
func Missing(addresses []string) ([]string, error) {
	present, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, text := range addresses {
		want := net.ParseIP(text)
		if !slices.ContainsFunc(present, func(a net.Addr) bool {
			network, ok := a.(*net.IPNet)
			return ok && network.IP.Equal(want)
		}) {
			out = append(out, text)
		}
	}
	return out, nil
}

// Snapshots returns the times of the newest scheduled snapshots on this host, by the name of the etcd
// cluster. A cluster without one is left out.
func Snapshots(all []config.Backups) map[string]time.Time {
	out := map[string]time.Time{}
	for _, b := range all {
		entries, _ := os.ReadDir(b.Dir) // it does not exist before the first snapshot
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), "scheduled-") || filepath.Ext(e.Name()) != ".db" {
				continue
			}
			if info, err := e.Info(); err == nil && info.ModTime().After(out[b.Of]) {
				out[b.Of] = info.ModTime().UTC().Truncate(time.Second)
			}
		}
	}
	return out
}

// Scheduled returns when the timer of snapshots was set up; zero without one.
func Scheduled(b config.Backups) time.Time {
	info, err := os.Stat(b.Timer)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
