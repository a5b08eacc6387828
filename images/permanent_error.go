package images

import (
	"deployer/resumable"
	"errors"
	"io/fs"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// final marks an error that another attempt would repeat.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// permanent reports whether another attempt would repeat an error: a wrong digest, a
// missing file, a full disk.
func permanent(err error) bool {
	var registryError *transport.Error
	var onDisk *fs.PathError
	var last final
	switch {
	case errors.Is(err, ErrMismatch), errors.As(err, &last), errors.As(err, &onDisk):
		return true
	case errors.As(err, &registryError):
		return !resumable.TemporaryStatus(registryError.StatusCode)
	}
	return resumable.Permanent(err)
}
