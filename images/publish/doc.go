// Package publish pushes built images to registries and promotes them from stage to
// stage. [Push] writes the images of all architectures as one index, and the SBOM and the
// record of tests of each image as artifacts that refer to it. [Promote] moves the tag of
// the next stage to a digest whose records are there and say that the tests have passed.
//
// The tags of version V are V-testing, V-staging and, in production, V: the name that
// hosts and mirrors ask for.
package publish
