package rejoin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/keeper/config"
	"deployer/keeper/host"
	"deployer/keeper/world"
	"deployer/tasks/control/etcd"
	"deployer/tasks/file"
	"deployer/tasks/hostfile"
	"deployer/tasks/unit"
)

// The files by which role etcd-member starts a member (docs/decisions/2026-11-23-etcd-start-gate.md).
const (
	// servedFile says that a member has served on this host: its unit starts it with its data only.
	servedFile  = "/etc/deployer/etcd-member"
	initialFile = "/etc/deployer/etcd-initial.env"
	unitName    = "etcd.service"
)

const (
	// joinTimeout is the maximum wait until the quorum allows a change of the members.
	joinTimeout = 5 * time.Minute
	// servesTimeout is the maximum time in which a learner gets the data and votes; 8 GB, the largest
	// database that etcd recommends, take a minute at 1 Gb/s.
	servesTimeout = 15 * time.Minute
)

// Rejoin makes this host a member of etcd again.
type Rejoin struct {
	Self    etcd.Host
	Members []etcd.Host // by the inventory, with Self
	Open    etcd.Opener
	Files   config.EtcdFiles
	System  engine.System // this host; it reports the progress
}

// Look reads what a host has of its member.
func Look(sys engine.System, files config.EtcdFiles) (world.Member, error) {
	var s world.Member
	_, err := hostfile.Lstat(sys, servedFile)
	if s.Served = err == nil; err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	dir, err := hostfile.OpenDir(sys, files.WAL)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	defer dir.Close()
	names, err := dir.Names()
	for _, name := range names {
		s.Data = s.Data || strings.HasSuffix(name, ".wal")
	}
	return s, err
}

// Run takes the former member out of the cluster, whose ID in hexadecimal is member, or empty when the
// cluster has none of this host; moves what is left of its data aside, and starts a new member as a learner,
// which votes when it has the data. A run that was interrupted is repeated, with the member that it has
// added as the former one.
func (r Rejoin) Run(ctx context.Context, member string) error {
	id, err := etcd.ParseID(member)
	if err != nil {
		return err
	}
	if _, err := r.System.Run(ctx, engine.Command{Argv: []string{"systemctl", "stop", unitName}}); err != nil {
		return fmt.Errorf("stopping etcd: %w", err)
	}
	if err := r.moveAside(); err != nil {
		return fmt.Errorf("moving the former data of etcd aside: %w", err)
	}
	live, err := etcd.Add(ctx, r.Open, r.Members, r.Self, id, joinTimeout, r.System.Progress)
	if err != nil {
		return err
	}
	dirs := &file.Directory{Paths: r.Files.Dirs, Mode: "0700", Owner: r.Files.Owner}
	if err := host.Converge(ctx, r.System, dirs); err != nil {
		return err
	}
	if err := r.firstStart(live); err != nil {
		return err
	}
	return r.Finish(ctx)
}

// Finish starts the member, and returns when it votes.
func (r Rejoin) Finish(ctx context.Context) error {
	if err := host.Converge(ctx, r.System, &unit.Unit{Name: unitName, State: "started", NoBlock: true}); err != nil {
		return fmt.Errorf("starting etcd: %w", err)
	}
	if _, err := etcd.WaitHealthy(ctx, r.Open, r.Members, r.Self, servesTimeout, r.System.Progress); err != nil {
		return fmt.Errorf("waiting for the new member of etcd: %w", err)
	}
	if err := etcd.Promote(ctx, r.Open, r.Members, r.Self, servesTimeout, r.System.Progress); err != nil {
		return err
	}
	text := "# Written by deployer. A member of etcd has served on this host: its unit starts it with its data only.\n"
	return hostfile.Write(r.System, servedFile, strings.NewReader(text), hostfile.Access{Mode: "0644"})
}

// firstStart writes what etcd reads when a member starts for the first time, and lets its unit start it without
// data.
func (r Rejoin) firstStart(live *cluster.EtcdLive) error {
	text := "# Written by deployer. etcd reads this file only at its first start.\n" +
		"ETCD_INITIAL_CLUSTER=" + live.InitialCluster(cluster.EtcdProbe{Name: r.Self.Name, PeerURL: r.Self.PeerURL}) + "\nETCD_INITIAL_CLUSTER_STATE=existing\n"
	if err := hostfile.Write(r.System, initialFile, strings.NewReader(text), hostfile.Access{Mode: "0644"}); err != nil {
		return err
	}
	dir, name, err := hostfile.Parent(r.System, servedFile)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.RemoveAll(name)
}

// moveAside renames what is left of the former member's data, which a person may still need.
func (r Rejoin) moveAside() error {
	to := "before-rejoin-" + time.Now().UTC().Format("20060102-150405")
	paths := []string{filepath.Join(r.Files.Dirs[0], "member")}
	if !strings.HasPrefix(r.Files.WAL, paths[0]+"/") {
		paths = append(paths, r.Files.WAL)
	}
	for _, path := range paths {
		dir, name, err := hostfile.Parent(r.System, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = dir.Rename(name, to)
		dir.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
