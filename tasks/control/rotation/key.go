package rotation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"deployer/cluster/encryption"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/keyring"
)

// The steps of [Key] and [Authority].
const (
	stepAdd   = "add"
	stepWrite = "write"
	stepDrop  = "drop"
	stepSign  = "sign" // of [Authority] only, which also has add and drop
)

// Key is the action `encryption_key`: it advances the rotation of the key in the encryption
// configuration by one step, in the run's keyring only. The module `ca_files` writes the
// configuration to masters. A step that an earlier run has taken changes nothing, so an
// interrupted rotation continues.
//
//   - add: a new key is added behind the key in use. When a rotation is unfinished, its keys
//     stay unchanged; when that rotation has begun to drop keys, only the step drop is left.
//     The step fails when an API server may run that does not get the key.
//   - write: the newest key becomes the first one, which encrypts.
//   - drop: the other keys are removed. The step fails while etcd holds a value that they
//     have encrypted.
//
// Before the next step, all API servers must run with the file of this step. The action
// must be in a run_once task after `ca_load`. Output: keys, the names of the keys, beginning
// with the key that encrypts; stage.
type Key struct {
	Step   string        `yaml:"step" rule:"in:add,write,drop" doc:"add, write or drop." required:"true"`
	Name   string        `yaml:"name" rule:"word" doc:"Name of the key that the step add makes; names of the form key-TIME sort by age."`
	Found  string        `yaml:"found" rule:"variable" doc:"Name under which the masters registered the result of ca_read, for the step add."`
	MinAge time.Duration `yaml:"min_age" range:"0s.." doc:"Age from which the step add replaces a key that a rotation has made; default 24h. A younger key belongs to a rotation that was interrupted after its last step, and is kept."`
}

// NewKey returns the action with its defaults.
func NewKey() *Key { return &Key{MinAge: 24 * time.Hour} }

// ReadOnly returns true: the action changes no host.
func (*Key) ReadOnly() bool { return true }

// Check takes the step in the keyring.
func (k *Key) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	ring, keys, file, err := load(actx)
	if err != nil {
		return engine.Change{}, err
	}
	next, action, err := k.next(file)
	if err != nil {
		return engine.Change{}, err
	}
	if k.Step == stepAdd {
		c, err := actionctx.Cluster(actx)
		if err != nil {
			return engine.Change{}, err
		}
		if err := requireAllServers(ctx, actx, c, k.Found); err != nil {
			return engine.Change{}, err
		}
		switch last, begun, err := k.dropping(ctx, actx, file); {
		case err != nil:
			return engine.Change{}, err
		case begun:
			next, action = last, dropAction(file)
		}
	}
	if k.Step == stepDrop && action != "" && !actx.CheckOnly() {
		if err := requireRewritten(ctx, actx, file); err != nil {
			return engine.Change{}, err
		}
	}
	if err := ring.Fill(keys.WithEncryption(next)); err != nil {
		return engine.Change{}, err
	}
	var names []any
	for _, name := range next.Keys() {
		names = append(names, name)
	}
	change := engine.NoChange(engine.Output{"keys": names, "stage": string(next.Stage())})
	if k.Step == stepAdd && next.Stage() == encryption.Steady && action == "" {
		change.Effects = []engine.Effect{{Kind: engine.EffectShow, Target: keyring.EncryptionConf,
			Diff: fmt.Sprintf("the key %s is from a recent rotation, so it is kept; use --again to replace it", next.Keys()[0])}}
	}
	if action != "" {
		change.Needed = true
		change.Effects = []engine.Effect{{Kind: engine.EffectFile, Target: keyring.EncryptionConf, Action: action + ", in memory", Secret: true}}
	}
	return change, nil
}

// Apply reports the effects; Check has taken the step.
func (*Key) Apply(_ context.Context, actx engine.ActionContext, change engine.Change) (engine.Output, error) {
	actx.Progress(change.Effects[0].Action)
	return nil, nil
}

// next returns the encryption configuration after the step, and a description of the change.
// The description is empty when the step changes nothing.
func (k *Key) next(file *encryption.File) (*encryption.File, string, error) {
	var next *encryption.File
	var err error
	action := ""
	switch stage := file.Stage(); {
	case k.Step == stepAdd && stage == encryption.Steady && k.young(file.Keys()[0]):
		return file, "", nil // the rotation is complete, by this run or the one that it continues
	case k.Step == stepAdd && stage == encryption.Steady:
		next, err = file.Add(k.Name)
		action = "add the key " + k.Name
		if errors.Is(err, encryption.ErrOlder) {
			err = fmt.Errorf("adding the key %s: %w; a later rotation has made that key, or the clock of this machine is behind: check the clock", k.Name, err)
		}
	case k.Step == stepWrite && stage == encryption.Added:
		next, err = file.Promote()
		action = "encrypt with the newest key"
	case k.Step == stepDrop && stage == encryption.Writing:
		next, err = file.Drop()
		action = dropAction(file)
	case k.Step == stepDrop && stage == encryption.Added:
		err = fmt.Errorf("the step drop comes after the step write: the key %s does not encrypt yet", file.Keys()[1])
	case k.Step == stepAdd || k.Step == stepWrite || k.Step == stepDrop:
		return file, "", nil
	default:
		err = fmt.Errorf("unknown step %q: write add, write or drop", k.Step)
	}
	return next, action, err
}

// young reports whether a rotation made the key less than MinAge before the key of the
// action, or whether both are the same key.
func (k *Key) young(key string) bool {
	made, known := encryption.KeyTime(key)
	now, valid := encryption.KeyTime(k.Name)
	return key == k.Name || known && valid && !now.Before(made) && now.Sub(made) < k.MinAge
}

func dropAction(file *encryption.File) string {
	return "drop the keys " + strings.Join(file.Keys()[1:], ", ")
}

// dropping returns the file of the step drop when an earlier run was interrupted during
// that step and etcd holds no value that another key has encrypted.
func (k *Key) dropping(ctx context.Context, actx engine.ActionContext, merged *encryption.File) (*encryption.File, bool, error) {
	var files []*encryption.File
	for host, held := range keyring.Found(actx, k.Found) {
		if held[keyring.EncryptionConf] == nil {
			continue
		}
		f, err := encryption.Parse(held[keyring.EncryptionConf])
		if err != nil {
			return nil, false, fmt.Errorf("%s: %s: %w", host, keyring.EncryptionConf, err)
		}
		files = append(files, f)
	}
	last, begun := encryption.Dropping(files)
	if !begun {
		return nil, false, nil
	}
	found, err := scan(ctx, actx, merged, nil)
	return last, err == nil && len(found.keys) == 0, err
}

// load returns the keys of the run and their encryption configuration. load fails when
// deployer cannot rotate the key.
func load(actx engine.ActionContext) (*keyring.Keyring, *keyring.Keys, *encryption.File, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return nil, nil, nil, err
	}
	if !c.Encryption.AtRest {
		return nil, nil, nil, errors.New("there is no key to rotate: the inventory says cluster.encryption.at_rest: false")
	}
	ring, err := keyring.Of(actx)
	if err != nil {
		return nil, nil, nil, err
	}
	keys, err := ring.Keys()
	if err != nil {
		return nil, nil, nil, err
	}
	file, err := keys.Encryption()
	if err == nil {
		err = file.Rotatable()
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("rotating the key in %s: %w", keyring.EncryptionConf, err)
	}
	return ring, keys, file, nil
}
