package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/objectstore"
	"deployer/tasks/control/keybackup"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/snapshot"
)

// maxMACs is the number of the newest snapshots of a list that are compared with the key of the
// cluster: each needs a request.
const maxMACs = 500

// endOfReading is an error of reading a MAC that ends the reading of all.
type endOfReading struct{ error }

// readMACs reads the MACs of the newest snapshots.
func readMACs(list []*storedBackup, read func(*storedBackup) ([]byte, error)) error {
	for i, b := range list {
		if !b.hasMAC {
			continue
		}
		b.Authentic = authenticUnknown
		if len(list)-i > maxMACs {
			b.Reason = fmt.Sprintf("only the newest %d are compared: name a longer prefix", maxMACs)
			continue
		}
		content, err := read(b)
		var end endOfReading
		if errors.As(err, &end) {
			return end.error
		}
		if err != nil {
			b.Reason = fmt.Sprintf("its MAC cannot be read: %v", err)
			continue
		}
		if _, err := snapshot.ParseMAC(string(content)); err != nil {
			b.decide(fmt.Sprintf("reading its MAC: %v", err))
			continue
		}
		b.mac, b.Reason = string(content), ""
	}
	return nil
}

// stored returns the snapshot for a comparison. A user may have renamed the files of a directory, so
// the name is not compared there, as in a restore.
func (b *storedBackup) stored() snapshot.Stored {
	name := path.Base(b.name)
	if m, err := snapshot.ParseMAC(b.mac); err == nil && b.renamed {
		name = m.Name
	}
	return snapshot.Stored{Name: name, Bytes: b.Size, MAC: b.mac}
}

// decide records the result of a comparison; an empty doubt is none.
func (b *storedBackup) decide(doubt string) {
	if doubt != "" {
		b.Authentic, b.Reason = authenticNo, doubt
		return
	}
	b.Authentic = authenticYes
	if m, err := snapshot.ParseMAC(b.mac); err == nil {
		b.Saved = &m.Saved
		if m.Name != path.Base(b.name) {
			b.SavedAs = m.Name
		}
	}
}

// comparable returns the snapshots whose MAC was read.
func comparable(list []*storedBackup) []*storedBackup {
	var out []*storedBackup
	for _, b := range list {
		if b.mac != "" {
			out = append(out, b)
		}
	}
	return out
}

// keyFile are the flags that name the encrypted keys of a backup.
type keyFile struct{ file, identity string }

func (k *keyFile) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&k.file, "keys", "", "`file` of this machine with the encrypted keys of the cluster, to compare the backups without masters")
	cmd.Flags().StringVar(&k.identity, "identity", "", "with --keys: `file` with the age identity or SSH key that decrypts it (default: as for encrypted variables)")
}

func (k *keyFile) valid() error {
	switch {
	case k.identity != "" && k.file == "":
		return usageError(errors.New("--identity opens the file of --keys: name that, too"))
	case objectstore.IsLocation(k.file):
		return usageError(errors.New("--keys: name a file of this machine: keys of the store that is listed would prove nothing"))
	}
	return nil
}

// compare compares snapshots with the key in the file.
func (k *keyFile) compare(list []*storedBackup, cluster string) error {
	files, err := keybackup.Open(k.file, k.identity, cluster)
	if err != nil {
		return err
	}
	key, err := keyring.BackupKeyOf(files)
	if err != nil {
		return fmt.Errorf("reading the keys in %s: %w", k.file, err)
	}
	for _, b := range comparable(list) {
		b.decide(b.stored().Doubt(key))
	}
	return nil
}

// compareOnMasters compares snapshots with the key of the masters. Where that cannot be read the
// list remains, and the reason is printed.
func compareOnMasters(ctx context.Context, e env, o runOptions, all []*storedBackup) error {
	list := comparable(all)
	if len(list) == 0 {
		return nil
	}
	snapshots := []any{}
	for _, b := range list {
		s := b.stored()
		snapshots = append(snapshots, map[string]any{"name": s.Name, "bytes": s.Bytes, "mac": s.MAC})
	}
	found, reason, err := askMasters(ctx, e, o, snapshots)
	if err != nil {
		return err
	}
	if len(found) == len(list) {
		for i, b := range list {
			b.decide(found[i])
		}
		return nil
	}
	fmt.Fprintf(e.stderr, "authenticity of the backups is unknown: %s\n--keys compares them without masters\n", reason)
	for _, b := range list {
		b.Reason = reason
	}
	return nil
}

// askMasters returns the doubt about each snapshot, with the key that the masters have; no doubts
// and the reason when the key could not be read. The error is that of an interrupt.
func askMasters(ctx context.Context, e env, o runOptions, snapshots []any) (found []string, reason string, err error) {
	o.output = "text"
	given, err := o.resolve()
	if err != nil {
		return nil, err.Error(), nil //nolint:nilerr // the list is printed without an answer, and says why
	}
	given.Extra = map[string]any{"etcd_backups_snapshots": snapshots}
	r, err := newRunner(e).EtcdBackups(given)
	if err != nil {
		return nil, err.Error(), nil //nolint:nilerr // the list is printed without an answer, and says why
	}
	sink := &doubts{}
	done, err := runWithDisplay(ctx, r, o.progressDisplay(e.stderr, r.Hosts).with(sink), r.Do)
	switch {
	case done != nil && done.Interrupted:
		return nil, "", exitSilently(exitInterrupted)
	case err != nil:
		return nil, err.Error(), nil //nolint:nilerr // the list is printed without an answer, and says why
	}
	reason = "no master has the keys of the cluster"
	for _, h := range done.Broken() {
		reason += fmt.Sprintf("; %s: %s", h.Host, h.Failure.Message)
	}
	return sink.list, reason, nil
}

// doubts keeps the output of the action snapshot_macs.
type doubts struct {
	mu   sync.Mutex
	list []string
}

// Emit implements engine.Sink.
func (d *doubts) Emit(e engine.Event) {
	out := e.ActionOutput()
	if out["doubts"] == nil {
		return
	}
	var found struct {
		Doubts []string `json:"doubts"`
	}
	if out.Decode(&found) != nil {
		return // the output of another task
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = found.Doubts
}
