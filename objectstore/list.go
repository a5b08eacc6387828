package objectstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// Object is a line of a list.
type Object struct {
	Location Location
	Size     int64     // in bytes
	Written  time.Time // in UTC
}

// List returns the objects below a prefix, sorted by name. List fails when the store sends more
// objects, pages or bytes than a list has, repeats a page, needs more than five minutes, or
// sends an object that is not below the prefix.
func (s *Store) List(ctx context.Context, below Location) ([]Object, error) {
	ctx, stop := context.WithTimeout(withListing(ctx), listTimeout) // the end of ctx ends the listing
	defer stop()
	prefix := below.Key
	if prefix != "" {
		prefix += "/"
	}
	var out []Object
	for info := range s.client.ListObjects(ctx, below.Bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		switch {
		case info.Err != nil:
			return nil, explained("listing", below, info.Err)
		case !strings.HasPrefix(info.Key, prefix) || info.Size < 0:
			return nil, &Error{Doing: "listing", At: below, Err: fmt.Errorf("the store sends the object %q of %d bytes, which is not one below the prefix", printable(info.Key), info.Size)}
		case len(out) == maxListed:
			return nil, &Error{Doing: "listing", At: below, Err: fmt.Errorf("there are more than %d objects", maxListed), Advice: "name a longer prefix, or let the store expire old backups"}
		case strings.HasSuffix(info.Key, "/"):
			continue // a directory of a file system behind the store
		}
		out = append(out, Object{Location{below.Bucket, info.Key}, info.Size, info.LastModified.UTC()})
	}
	if err := ctx.Err(); err != nil {
		return nil, explained("listing", below, err)
	}
	return out, nil
}
