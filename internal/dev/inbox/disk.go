package inbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"authsvc/internal/text"
)

const (
	fileSuffix     = ".eml"
	tempSuffix     = ".tmp"
	envelopeHeader = "X-Mailbox-Envelope: "
	// envelopeRoom exceeds the size of any envelope line.
	envelopeRoom = 512 << 10
)

var fileName = text.LazyRegexp(`^[0-9a-f]{16}\.eml(\.tmp)?$`)

// envelope is the first line of a file, because the header of a mail does not contain
// the envelope recipients.
type envelope struct {
	From string   `json:"from"`
	To   []string `json:"to"`
}

// disk keeps mails as files that mail programs can open. It only touches files whose
// names it chose, and follows no link out of its directory.
type disk struct {
	root    *os.Root
	maxFile int64
}

func openDisk(dir string, maxMessage int64) (*disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	return &disk{root: root, maxFile: maxMessage + envelopeRoom}, nil
}

func (d *disk) close() error { return d.root.Close() }

// write adds a complete file or none.
func (d *disk) write(m Message) error {
	line, err := json.Marshal(envelope{From: m.From, To: m.To})
	if err != nil {
		return fmt.Errorf("inbox: %w", err)
	}
	name := m.ID + fileSuffix
	content := envelopeHeader + string(line) + "\r\n" + m.Raw
	if err := d.root.WriteFile(name+tempSuffix, []byte(content), 0o600); err != nil {
		return errors.Join(fmt.Errorf("inbox: %w", err), d.unlink(name+tempSuffix))
	}
	if err := d.root.Rename(name+tempSuffix, name); err != nil {
		return fmt.Errorf("inbox: %w", err)
	}
	return nil
}

func (d *disk) remove(id string) error { return d.unlink(id + fileSuffix) }

func (d *disk) unlink(name string) error {
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("inbox: %w", err)
	}
	return nil
}

// load returns the newest mails, oldest first. It removes older mails and the files of
// interrupted writes. It ignores files that are not regular, too large or damaged.
func (d *disk) load() ([]Message, error) {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	var kept []Message
	var size int
	for _, e := range slices.Backward(entries) {
		name := e.Name()
		if !fileName.MatchString(name) || !e.Type().IsRegular() {
			continue
		}
		if path.Ext(name) == tempSuffix || len(kept) == maxKept || size > maxKeptBytes {
			if err := d.unlink(name); err != nil {
				return nil, err
			}
			continue
		}
		if m, ok := d.read(name); ok {
			kept = append(kept, m)
			size += len(m.Raw)
		}
	}
	slices.Reverse(kept)
	return kept, nil
}

func (d *disk) read(name string) (Message, bool) {
	f, err := d.root.Open(name)
	if err != nil {
		return Message{}, false
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, d.maxFile+1))
	if err != nil || int64(len(content)) > d.maxFile {
		return Message{}, false
	}
	first, raw, _ := strings.Cut(string(content), "\r\n")
	line, ok := strings.CutPrefix(first, envelopeHeader)
	var env envelope
	if !ok || json.Unmarshal([]byte(line), &env) != nil {
		return Message{}, false
	}
	return newMessage(strings.TrimSuffix(name, fileSuffix), env.From, env.To, raw), true
}
