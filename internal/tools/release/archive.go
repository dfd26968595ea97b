package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"slices"
	"time"
)

// A file is an entry of an archive. Its mode is 0755 if it is a program, and otherwise
// 0644.
type file struct {
	name    string // with slashes, below the folder of the archive
	data    []byte
	program bool
}

func (f file) mode() int64 {
	if f.program {
		return 0o755
	}
	return 0o644
}

// arranged returns the files by name. Archives then do not depend on the order in which
// they were read.
func arranged(files []file) ([]file, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
	for i, f := range files {
		if f.name == "" || path.IsAbs(f.name) || path.Clean(f.name) != f.name || f.name == ".." || len(f.name) > 2 && f.name[:3] == "../" {
			return nil, fmt.Errorf("%q cannot be the name of a file in an archive: it must be a relative path without \"..\"", f.name)
		}
		if i > 0 && files[i-1].name == f.name {
			return nil, fmt.Errorf("the archive would have %s twice", f.name)
		}
	}
	return files, nil
}

// tarball writes a .tar.gz with the files in one folder. Every file has the same time
// and belongs to root; nothing else of the machine is in it.
func tarball(folder string, files []file, at time.Time) ([]byte, error) {
	files, err := arranged(files)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(packed)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: folder + "/" + f.name, Mode: f.mode(), Size: int64(len(f.data)), ModTime: at.UTC().Truncate(time.Second), Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if err := cmp.Or(w.Close(), packed.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// zipped writes a .zip with the files in one folder, as tarball does.
func zipped(folder string, files []file, at time.Time) ([]byte, error) {
	files, err := arranged(files)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		header := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: at.UTC().Truncate(time.Second)}
		header.SetMode(0o644)
		if f.program {
			header.SetMode(0o755)
		}
		entry, err := w.CreateHeader(header)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := entry.Write(f.data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// untarred returns the files of a .tar.gz whose one folder it removes. It refuses
// everything but regular files.
func untarred(folder string, raw []byte) ([]file, error) {
	packed, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	var files []file
	for r := tar.NewReader(packed); ; {
		header, err := r.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if dir, name := path.Split(header.Name); header.Typeflag != tar.TypeReg || dir != folder+"/" || name == "" {
			return nil, fmt.Errorf("%s is not a file in the folder %s", header.Name, folder)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: path.Base(header.Name), data: data, program: header.Mode&0o111 != 0})
	}
}
