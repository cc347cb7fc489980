// The Go client of NATS, for tests of what other languages write and read. Messages are lines of JSON with the data in
// base64: `publish URL` reads them from the input, `read URL STREAM COUNT` writes the first COUNT messages of the stream.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A reader gives up when no message comes for so long.
const patience = 60 * time.Second

type message struct {
	Subject string              `json:"subject"`
	Data    []byte              `json:"data"`
	Headers map[string][]string `json:"headers"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(words []string) error {
	connection, err := nats.Connect(words[1])
	if err != nil {
		return err
	}
	defer connection.Close()
	stream, err := jetstream.New(connection)
	if err != nil {
		return err
	}
	switch words[0] {
	case "publish":
		return publish(stream)
	case "read":
		count, err := strconv.Atoi(words[3])
		if err != nil {
			return err
		}
		return read(stream, words[2], count)
	}
	return fmt.Errorf("unknown command %s", words[0])
}

func publish(stream jetstream.JetStream) error {
	input := bufio.NewReader(os.Stdin)
	for decoder := json.NewDecoder(input); decoder.More(); {
		var next message
		if err := decoder.Decode(&next); err != nil {
			return err
		}
		sent := &nats.Msg{Subject: next.Subject, Data: next.Data, Header: next.Headers}
		if _, err := stream.PublishMsg(context.Background(), sent); err != nil {
			return err
		}
	}
	return nil
}

func read(stream jetstream.JetStream, name string, count int) error {
	consumer, err := stream.OrderedConsumer(context.Background(), name, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	for seen := 0; seen < count; seen++ {
		next, err := consumer.Next(jetstream.FetchMaxWait(patience))
		if err != nil {
			return fmt.Errorf("the stream has only %d of %d messages: %w", seen, count, err)
		}
		line, err := json.Marshal(message{next.Subject(), next.Data(), next.Headers()})
		if err != nil {
			return err
		}
		fmt.Println(string(line))
	}
	return nil
}
