// Package imagetest runs the tests of image files in the images, and records the results.
// A test runs in a container of its own by runc, without network and without privileges;
// it needs root, and Debian's package runc. The record is an in-toto statement about the
// manifest digest of the image, kept beside the image's archive.
package imagetest
