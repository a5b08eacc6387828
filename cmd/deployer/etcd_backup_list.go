package main

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"deployer/engine/sanitize"
	"deployer/shortlist"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/snapshot"
)

// backupList has the backups of one place.
type backupList struct {
	Place   string          `json:"place"` // directory, or s3://BUCKET/PREFIX
	Backups []*storedBackup `json:"backups"`
	Others  []otherFile     `json:"others"` // files there that are no part of a backup
}

// otherFile is a file that is no part of a backup.
type otherFile struct {
	Name   string `json:"name"` // below the place
	Reason string `json:"reason"`
}

// storedBackup is a snapshot in a directory or an object store.
type storedBackup struct {
	Snapshot  string     `json:"snapshot"`    // path, or s3://..., for deployer etcd restore
	Written   time.Time  `json:"written"`     // as the file system or the store says
	Age       int64      `json:"age_seconds"` // since it was saved, or else written
	Size      int64      `json:"size"`        // in bytes
	Keys      bool       `json:"keys"`        // the keys of the cluster are next to it
	Authentic string     `json:"authentic"`
	Reason    string     `json:"reason,omitempty"`   // why it is not known to be authentic
	Saved     *time.Time `json:"saved,omitempty"`    // of an authentic one
	SavedAs   string     `json:"saved_as,omitempty"` // name of an authentic one in a directory, when the file has another

	name    string // its file below the place, without .db
	renamed bool   // the user may have given it another name
	hasMAC  bool
	mac     string
}

// The values of storedBackup.Authentic.
const (
	authenticYes     = "yes"
	authenticNo      = "no"
	authenticUnknown = "unknown"
)

// withoutMAC is the reason for a backup of an earlier version.
const withoutMAC = "it has no MAC"

// The ends of the names of a backup's files.
const (
	snapshotSuffix = ".db"
	keysSuffix     = ".keys.age"
)

// backupFile is a file at the place of backups.
type backupFile struct {
	name    string // below the place
	written time.Time
	size    int64
	reason  string // why it cannot be a part of a backup; empty: its name decides
}

// newBackupList returns the backups among the files of a place, oldest first. full returns the
// name of a file for the user.
func newBackupList(place string, files []backupFile, full func(name string) string) *backupList {
	has := map[string]bool{}
	for _, f := range files {
		has[f.name] = f.reason == ""
	}
	list := &backupList{Place: place, Backups: []*storedBackup{}, Others: []otherFile{}}
	for _, f := range files {
		name, isSnapshot := strings.CutSuffix(f.name, snapshotSuffix)
		switch reason := cmp.Or(f.reason, orphan(f.name, has)); {
		case reason != "":
			list.Others = append(list.Others, otherFile{f.name, reason})
		case isSnapshot:
			b := &storedBackup{
				Snapshot: full(f.name), Written: f.written, Size: f.size, Keys: has[name+keysSuffix],
				Authentic: authenticNo, Reason: withoutMAC, name: name, hasMAC: has[name+snapshot.MACSuffix],
			}
			if !snapshot.IsWhole(f.size) {
				b.Reason, b.hasMAC = fmt.Sprintf("it is no whole snapshot of etcd: it has %d bytes, and no digest at its end", f.size), false
			}
			list.Backups = append(list.Backups, b)
		}
	}
	slices.SortStableFunc(list.Backups, func(a, b *storedBackup) int { return a.Written.Compare(b.Written) })
	return list
}

// orphan returns the reason why a file is no part of a backup, by its name and those of the others.
func orphan(name string, has map[string]bool) string {
	if strings.HasSuffix(name, snapshotSuffix) {
		return ""
	}
	for _, suffix := range []string{keysSuffix, snapshot.MACSuffix} {
		if of, ok := strings.CutSuffix(name, suffix); ok {
			if has[of+snapshotSuffix] {
				return ""
			}
			return fmt.Sprintf("its snapshot %s is not there", path.Base(of+snapshotSuffix))
		}
	}
	return "it is no backup"
}

// setAges sets the age of each snapshot.
func (l *backupList) setAges(now time.Time) {
	for _, b := range l.Backups {
		at := b.Written
		if b.Saved != nil {
			at = *b.Saved
		}
		b.Age = int64(max(0, now.Sub(at)) / time.Second)
	}
}

// maxOthers is the maximum number of other files that are printed.
const maxOthers = 10

// print writes the table of the backups, the reasons for doubt, and the other files.
func (l *backupList) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SNAPSHOT\tWRITTEN\tSIZE\tKEYS\tAUTHENTIC\tSAVED\tAGE")
	var notes []string
	for _, b := range l.Backups {
		keys, saved := "no", "-"
		if b.Keys {
			keys = "yes"
		}
		if b.Saved != nil {
			saved = b.Saved.Format(time.DateTime)
		}
		name := storeText(b.Snapshot)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, b.Written.Format(time.DateTime), etcd.Mebibytes(b.Size), keys, b.Authentic, saved,
			etcd.Span(time.Duration(b.Age)*time.Second))
		switch {
		case b.Authentic == authenticNo && b.Reason != withoutMAC, b.Authentic == authenticUnknown && b.mac == "":
			notes = append(notes, name+": "+storeText(b.Reason))
		case b.SavedAs != "":
			notes = append(notes, fmt.Sprintf("%s: it was saved as %s", name, b.SavedAs))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(l.Backups) == 0 {
		notes = append(notes, "no snapshot is in "+storeText(l.Place))
	}
	var others []string
	for _, o := range l.Others {
		others = append(others, storeText(o.Name)+" ("+o.Reason+")")
	}
	if len(others) > 0 {
		notes = append(notes, "not listed: "+shortlist.Texts(others, maxOthers))
	}
	for _, line := range notes {
		fmt.Fprintln(w, line)
	}
	return nil
}

// storeText returns a text of a store for people: the first line, without control characters.
func storeText(text string) string { return sanitize.FirstLine(sanitize.Text(text), 2000) }
