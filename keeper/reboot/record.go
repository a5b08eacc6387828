package reboot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"deployer/tasks/control/drain"
)

// RecordFile is the name of the record in the host's state directory: the mark of the Node that this host
// has cordoned.
const RecordFile = "reboot.json"

// record is the file with the mark.
type record struct{ path string }

// read returns the mark; ok is false without one.
func (r record) read() (mark drain.RebootMark, ok bool, err error) {
	text, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return mark, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &mark)
	}
	if err != nil || mark.ID == "" {
		return mark, false, fmt.Errorf("reading the record of the cordon, %s: %w", r.path, errors.Join(err, errors.New("the node stays cordoned: remove the file and run kubectl uncordon")))
	}
	return mark, true, nil
}

// write stores the mark so that it survives a loss of power.
func (r record) write(mark drain.RebootMark) error {
	text, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	dir := filepath.Dir(r.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return wrap("recording the cordon", err)
	}
	f, err := os.CreateTemp(dir, ".reboot-*") // its mode is 0600
	if err != nil {
		return wrap("recording the cordon", err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), r.path)
	}
	if err != nil {
		return wrap("recording the cordon", errors.Join(err, os.Remove(f.Name())))
	}
	return wrap("recording the cordon", syncDir(dir))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// remove removes the record, if there is one.
func (r record) remove() error {
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap("removing the record of the cordon", err)
	}
	return nil
}

// lockTimeout is the maximum wait for another process of this host, longer than its answers of systemd and
// the API may take.
const lockTimeout = systemctlTimeout + apiTimeout + time.Second

// exclusively calls do while no other process of this host reads the record and changes the Node: a host
// that goes down while it still starts must not uncordon its Node after it has cordoned it.
func (r record) exclusively(do func() error) error {
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return wrap("locking the record of the cordon", err)
	}
	f, err := os.OpenFile(r.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return wrap("locking the record of the cordon", err)
	}
	defer func() { _ = f.Close() }() // unlocks it
	for end := time.Now().Add(lockTimeout); ; time.Sleep(100 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return do()
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(end) {
			return wrap("locking the record of the cordon", err)
		}
	}
}
