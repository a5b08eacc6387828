package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"deployer/engine"
	"deployer/shortlist"
	"deployer/tasks/hostfile"
	"deployer/tasks/receipt"
)

// Unpack unpacks an archive below a directory. A receipt records the members and
// their source: while all of them exist, the archive is neither fetched nor read again.
// Files that were changed since stay.
type Unpack struct {
	Name    string   `yaml:"name" rule:"line" doc:"name of the archive in output and receipt; default from, else the digest"`
	Blob    string   `yaml:"blob" rule:"sha256" doc:"hex SHA-256 of the archive, fetched from the controller"`
	From    string   `yaml:"from" rule:"path" doc:"absolute path of the archive on the host; instead of blob"`
	Dest    string   `yaml:"dest" rule:"path" required:"true" doc:"absolute path of the directory to unpack into; created if missing"`
	Strip   int      `yaml:"strip_components" range:"0.." doc:"number of leading directories removed from each name; members with fewer are left out. Default 0"`
	Include []string `yaml:"include" rule:"glob" doc:"patterns such as bin/*, matched after strip_components: unpack only members that match, or are below a match; default all"`
	Exclude []string `yaml:"exclude" rule:"glob" doc:"patterns of members to leave out"`
	Owner   string   `yaml:"owner" rule:"owner" doc:"user name or number of the unpacked files; default the agent's user, not that of the archive"`
	Group   string   `yaml:"group" rule:"owner" doc:"group name or number of the unpacked files; default the agent's"`
	Creates string   `yaml:"creates" rule:"path" doc:"absolute path; nothing is unpacked if it exists"`
	Follow  bool     `yaml:"follow" doc:"accept a symbolic link to a directory at dest, or of another user above it; default false"`
}

var (
	_ engine.Module   = (*Unpack)(nil)
	_ engine.Module   = (*Pack)(nil)
	_ engine.Preparer = (*Unarchive)(nil)
)

// record is the receipt of an unpacked archive.
type record struct {
	SHA256  string            `json:"sha256"`           // of the archive
	Source  *receipt.Stamp    `json:"source,omitempty"` // of From, so that it need not be hashed again
	Members map[string]string `json:"members"`          // name below dest -> what it is
}

// Valid implements engine.Validator.
func (u *Unpack) Valid() error {
	switch {
	case (u.Blob == "") == (u.From == ""):
		return errors.New("want either blob or from")
	case u.From != "" && !filepath.IsAbs(u.From):
		return fmt.Errorf("from: path %q is not absolute", u.From)
	case u.Creates != "" && !filepath.IsAbs(u.Creates):
		return fmt.Errorf("creates: path %q is not absolute", u.Creates)
	case u.Strip < 0:
		return errors.New("strip_components cannot be negative")
	}
	return errors.Join(validPatterns("include", u.Include), validPatterns("exclude", u.Exclude))
}

func (u *Unpack) name() string {
	switch {
	case u.Name != "":
		return u.Name
	case u.From != "":
		return u.From
	}
	return "blob " + u.Blob[:min(12, len(u.Blob))]
}

// receiptPath returns the path of the receipt, which depends on the name of the archive and
// on the selection, so that several archives may be unpacked to one directory.
func (u *Unpack) receiptPath() string {
	about := []string{u.Dest, u.name(), fmt.Sprint(u.Strip)}
	about = append(append(about, u.Include...), "-")
	return receipt.Path("unpack", append(about, u.Exclude...)...)
}

// Check compares the receipt with the archive, and checks that all members exist.
func (u *Unpack) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if err := u.Valid(); err != nil {
		return engine.Change{}, err
	}
	if u.Creates != "" {
		if _, err := os.Lstat(sys.Path(u.Creates)); err == nil {
			return engine.NoChange(engine.Output{"why": u.Creates + " exists"}), nil
		}
	}
	dest, err := hostfile.Resolve(sys, u.Dest, u.Follow)
	if err != nil {
		return engine.Change{}, err
	}
	var rec record
	known := receipt.Read(sys, u.receiptPath(), &rec)
	if known {
		if known, err = u.sameSource(sys, rec); err != nil {
			return engine.Change{}, err
		}
	}
	effect := engine.Effect{Kind: engine.EffectFile, Target: dest, Action: "unpack " + u.name()}
	if !known {
		return engine.Changed(effect), nil
	}
	missing, wrong, err := u.compare(sys, dest, rec)
	if err != nil {
		return engine.Change{}, err
	}
	switch {
	case len(missing) > 0:
		effect.Action += " again: " + shortlist.Names(missing, 3) + " of it missing"
	case len(wrong) > 0:
		effect.Action = "set owner and group of " + shortlist.Names(wrong, 3)
	default:
		return engine.NoChange(nil), nil
	}
	return engine.Changed(effect), nil
}

// sameSource reports whether the receipt is that of this archive.
func (u *Unpack) sameSource(sys engine.System, rec record) (bool, error) {
	if u.Blob != "" {
		return rec.SHA256 == u.Blob, nil
	}
	stamp, err := receipt.Take(sys, u.From)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // in a dry run an earlier step has not created it; otherwise Apply reports it
	}
	if err != nil || rec.Source != nil && stamp == *rec.Source {
		return err == nil, err
	}
	sum, err := hostfile.SHA256(sys, u.From)
	return sum == rec.SHA256, err
}

// compare returns the missing members, and the members with another owner.
func (u *Unpack) compare(sys engine.System, dest string, rec record) (missing, wrong []string, err error) {
	access := hostfile.Access{Owner: u.Owner, Group: u.Group}
	for _, name := range slices.Sorted(maps.Keys(rec.Members)) {
		info, err := hostfile.Lstat(sys, filepath.Join(dest, name))
		if err != nil || kindOf(info.Mode()) != rec.Members[name] {
			missing = append(missing, name)
			continue
		}
		differences, err := access.Differences(sys, info)
		if err != nil {
			return nil, nil, err
		}
		if len(differences) > 0 {
			wrong = append(wrong, name)
		}
	}
	return missing, wrong, nil
}
